import { bgpAdvertisementSpec, bgpInstanceSpec, bgpPeerSpec } from '../../lib/api/kinds/bgp.ts';
import type { BgpAdvertisement, BgpInstance, BgpPeer, Labels, Node, SpeakerState, Subnet } from '../state/objects.ts';

/** Objects for tests: what is not given has the default of the schema. */

const head = (name: string, createdAt: string, labels: Labels = {}) => ({
  name,
  uid: `uid-${name}`,
  generation: 1,
  createdAt,
  labels,
});

export function nodeOf(
  name: string,
  addresses: readonly string[],
  labels: Labels = { 'ovn.kubernetes.io/bgp': 'true' },
): Node {
  return { name, labels, addresses };
}

export function instanceOf(name: string, spec: object = {}, createdAt = '2024-01-01T00:00:00Z'): BgpInstance {
  return {
    ...head(name, createdAt),
    spec: { value: bgpInstanceSpec.parse({ localASN: 65001, ...spec }) },
    status: { nodes: [], conditions: [] },
  };
}

export function peerOf(name: string, address: string, spec: object = {}, createdAt = '2024-01-01T00:00:00Z'): BgpPeer {
  const value = bgpPeerSpec.parse({ instance: 'rack', address, asn: 65000, ...spec });
  return { ...head(name, createdAt), spec: { value }, status: { nodes: [], conditions: [], established: '' } };
}

export function advertisementOf(name: string, selector: object = {}, labels: Labels = {}): BgpAdvertisement {
  const value = bgpAdvertisementSpec.parse({ source: 'Subnet', selector });
  return { ...head(name, '2024-01-01T00:00:00Z', labels), spec: { value }, status: { prefixes: [], conditions: [] } };
}

export function subnetOf(name: string, prefixes: readonly string[], more: Partial<Subnet> = {}): Subnet {
  return { name, prefixes, labels: {}, vpc: 'ovn-cluster', ...more };
}

/** The state of node `n1` from any mix of objects. */
export function stateOf(objects: {
  readonly nodes?: readonly Node[];
  readonly instances?: readonly BgpInstance[];
  readonly peers?: readonly BgpPeer[];
  readonly advertisements?: readonly BgpAdvertisement[];
  readonly subnets?: readonly Subnet[];
  readonly secrets?: SpeakerState['secrets'];
}): SpeakerState {
  const byName = <T extends { readonly name: string }>(values: readonly T[]) =>
    new Map(values.map((value) => [value.name, value]));
  return {
    node: 'n1',
    nodes: byName(objects.nodes ?? [nodeOf('n1', ['10.0.0.1', 'fd00::1'])]),
    instances: byName(objects.instances ?? [instanceOf('rack')]),
    peers: byName(objects.peers ?? []),
    advertisements: byName(objects.advertisements ?? [advertisementOf('all')]),
    subnets: byName(objects.subnets ?? []),
    secrets: objects.secrets ?? new Map(),
  };
}
