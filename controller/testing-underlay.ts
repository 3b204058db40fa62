/** Builds clusters for the tests of VLANs of the physical network; used by tests only. */
import { reportedPod } from './testing-reports.ts';
import { basic, created, meta, subnet } from './testing-vpcs.ts';
import type { TestCluster } from './testing-cluster.ts';
import { parseProviderNetwork, parseVlan } from './watch/underlay.ts';
import { parseNamespace, parseNode, parsePod } from './watch/workloads.ts';

type Metadata = Readonly<Record<string, unknown>>;

export function vlan(cluster: TestCluster, name: string, spec: object | undefined, more: Metadata = {}): void {
  cluster.change('vlans', name, spec && parseVlan({ metadata: meta(name, more), spec }));
}

export function network(cluster: TestCluster, name: string, spec: object | undefined, more: Metadata = {}): void {
  cluster.change('providerNetworks', name, spec && parseProviderNetwork({ metadata: meta(name, more), spec }));
}

export function pod(cluster: TestCluster, name: string, more: Metadata = {}, status: object = {}): void {
  const metadata = meta(name, { namespace: 'lan', ...created(8), ...more });
  cluster.change('pods', `lan/${name}`, parsePod({ metadata, spec: { nodeName: 'n1' }, status }));
}

/** The pod with the addresses that `from` wrote, as another process finds it. */
export function podWithAddress(cluster: TestCluster, name: string, from: TestCluster): void {
  const { annotations, status } = reportedPod(from, `lan/${name}`);
  pod(cluster, name, { annotations }, status);
}

export function node(cluster: TestCluster, name: string, address: string, more: Metadata = {}): void {
  const status = { addresses: [{ type: 'InternalIP', address }] };
  cluster.change('nodes', name, parseNode({ metadata: meta(name, more), status }));
}

export const lan = { cidrBlock: '192.168.1.0/24', vlan: 'v10', namespaces: ['lan'] };

/** Objects of a cluster with a VLAN and a subnet in it. */
export function fill(cluster: TestCluster, spec: object = lan, more: Metadata = {}): void {
  cluster.change('namespaces', 'lan', parseNamespace({ metadata: meta('lan') }));
  node(cluster, 'n1', '172.30.1.1');
  network(cluster, 'net1', { defaultInterface: 'eth1' });
  vlan(cluster, 'v10', { id: 10, provider: 'net1' }, created(2));
  subnet(cluster, 'lan', spec, { ...created(3), ...more });
}

export function underlay(spec: object = lan): TestCluster {
  const cluster = basic();
  fill(cluster, spec);
  cluster.settle();
  return cluster;
}
