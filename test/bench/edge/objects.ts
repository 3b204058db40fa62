/** Objects of addresses outside: a VPC with a port in a Subnet outside, OvnFips with an OvnEip each, and OvnDnatRules, five of which share an OvnEip. */
import {
  apiVersionOf,
  nodes,
  objectPath,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  providerNetworks,
  subnets,
  vlans,
  vpcs,
} from '../../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../../lib/kube/types.ts';
import { forAll } from '../scale-pods.ts';

export const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
export const vpc = 'blue';
/** OvnDnatRules of one OvnEip. */
const shared = 5;

export function create(kube: KubeClient, resource: Resource, name: string, spec: object): Promise<unknown> {
  return kube.create(resource, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name },
    spec,
  });
}

/** The network outside, and one node that may hold the port. */
export async function createOutside(kube: KubeClient): Promise<void> {
  await kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
  const labels = { 'ovn.kubernetes.io/external-gw': 'true', 'net1.provider-network.kubernetes.io/ready': 'true' };
  const annotations = { 'ovn.kubernetes.io/chassis': 'chassis-n1' };
  await kube.patch(nodes, { name: 'n1' }, 'merge', { metadata: { labels, annotations } });
  const status = { addresses: [{ type: 'InternalIP', address: '172.30.9.11' }] };
  const contentType = 'application/merge-patch+json';
  await kube.request('PATCH', objectPath(nodes, { name: 'n1' }, 'status'), { status }, { contentType });
  await create(kube, providerNetworks, 'net1', { defaultInterface: 'eth1' });
  await create(kube, vlans, 'lan', { id: 0, provider: 'net1' });
  await create(kube, subnets, 'external', { vlan: 'lan', cidrBlock: '172.20.0.0/16', gateway: '172.20.0.1' });
  await create(kube, vpcs, vpc, { enableExternal: true });
  await create(kube, subnets, 'blue-net', { vpc, cidrBlock: '10.90.0.0/16' });
}

const insideOf = (at: number): string => `10.90.${String(10 + (at >> 8))}.${String(at & 255)}`;

export const dnatEip = (at: number): string => `shared-${String(Math.floor(at / shared))}`;

export function dnatSpec(at: number, ovnEip = dnatEip(at)): object {
  const externalPort = String(8000 + (at % shared));
  return { ovnEip, vpc, v4Ip: insideOf(at), protocol: 'tcp', externalPort, internalPort: '8080' };
}

export interface Counts {
  readonly fips: number;
  readonly dnats: number;
}

export async function createRules(kube: KubeClient, { fips, dnats }: Counts): Promise<void> {
  await forAll(numbers(fips), (at) => create(kube, ovnEips, `floating-${String(at)}`, {}));
  await forAll(numbers(Math.ceil(dnats / shared)), (at) => create(kube, ovnEips, `shared-${String(at)}`, {}));
  await forAll(numbers(fips), (at) =>
    create(kube, ovnFips, `fip-${String(at)}`, { ovnEip: `floating-${String(at)}`, vpc, v4Ip: insideOf(at) }),
  );
  await forAll(numbers(dnats), (at) => create(kube, ovnDnatRules, `dnat-${String(at)}`, dnatSpec(at)));
}
