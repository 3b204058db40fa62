import type { BgpPeerSpec } from '../api/kinds/bgp-peer.ts';
import type { BgpState, LinkNeighbor } from './objects.ts';

/** The address that a BgpPeer means on the node of the state. */
export function neighborOf(
  { node, neighbors }: Pick<BgpState, 'node' | 'neighbors'>,
  { address, interface: device }: Pick<BgpPeerSpec, 'address' | 'interface'>,
): LinkNeighbor {
  if (device === undefined) return { address, ownAddress: undefined, problem: undefined };
  const message = `node ${node} has no interface ${device}; name one that it has in spec.interface, or leave the node out by nodeSelector`;
  return (
    neighbors.get(device) ?? {
      address: undefined,
      ownAddress: undefined,
      problem: { code: 'InterfaceNotFound', message },
    }
  );
}

/** The address and link of `fe80::1%eth1`; undefined for an address without a link. */
export function splitLinkLocal(text: string): { readonly ip: string; readonly device: string } | undefined {
  const at = text.indexOf('%');
  return at < 0 ? undefined : { ip: text.slice(0, at), device: text.slice(at + 1) };
}
