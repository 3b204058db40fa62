import type { BgpState } from '../../lib/bgp/objects.ts';

/** Addresses with which this node had a session when its status was last written: what is left of an earlier process' knowledge. */
export function establishedBefore(state: BgpState): string[] {
  return [...state.peers.values()].flatMap(({ spec, status }) => {
    const entry = status.nodes.find(({ node }) => node === state.node);
    return entry?.state === 'Established' && 'value' in spec ? [spec.value.address] : [];
  });
}
