/** Services, SwitchLBRules, EndpointSlices and pods for tests; used by tests only. */
import type { Family } from '../lib/net/ip.ts';
import { parseEndpointSlice, parseService } from '../lib/services/parse.ts';
import type { Cluster } from './settle/cluster.ts';
import { TestCluster } from './testing-cluster.ts';
import { created, meta, subnet, vpc } from './testing-vpcs.ts';
import { parseSwitchLbRule } from './watch/addresses.ts';
import { parseNamespace, parseNode, parsePod } from './watch/workloads.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Two VPCs with a namespace each, whose subnets have the same addresses; not started. */
export function twoVpcs(): TestCluster {
  const cluster = new TestCluster({ aclTier: false, ipv6Selection: false, loadBalancers: true, externalIps: true });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  vpc(cluster, 'blue', {}, created(2));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  subnet(cluster, 'sea', { cidrBlock: '10.16.0.0/24', vpc: 'blue', namespaces: ['blue'] }, created(2));
  for (const name of ['default', 'blue'])
    cluster.change('namespaces', name, parseNamespace({ metadata: meta(name, created(1)) }));
  return cluster;
}

/** The same, started with what `fill` writes. */
export function startedWithTwoVpcs(fill: (cluster: TestCluster) => void): TestCluster {
  const cluster = twoVpcs();
  fill(cluster);
  cluster.restore(new Map());
  cluster.settle();
  return cluster;
}

/** An endpoint that is the pod `name` of the slice's namespace, with further fields. */
export function endpointOf(address: string, name: string | undefined, node = 'n1', more: Fields = {}): Fields {
  const targetRef = name === undefined ? {} : { targetRef: { kind: 'Pod', name } };
  return { addresses: [address], nodeName: node, ...targetRef, ...more };
}

/** Writes the Service `namespace/name`; without spec, deletes it. The default port is 80 of TCP. `more` is metadata, and the status. */
export function service(
  cluster: Cluster,
  key: string,
  spec: object | undefined,
  { status, ...more }: Fields = {},
): void {
  const [namespace = '', name = ''] = key.split('/');
  const metadata = meta(name, { namespace, uid: `uid-${key}`, ...more });
  const raw = { metadata, spec: { ports: [{ port: 80 }], ...spec }, status };
  cluster.change('services', key, spec && parseService(raw));
}

/** Writes the EndpointSlice `namespace/name`; without endpoints, deletes it. The port is 8080 of TCP. */
export function slice(
  cluster: Cluster,
  key: string,
  of: string,
  endpoints: readonly Fields[] | undefined,
  more: Fields = {},
): void {
  const [namespace = '', name = ''] = key.split('/');
  const metadata = meta(name, { namespace, labels: { 'kubernetes.io/service-name': of } });
  const raw = { metadata, addressType: 'IPv4', ports: [{ name: '', port: 8080 }], endpoints, ...more };
  cluster.change('endpointSlices', key, endpoints && parseEndpointSlice(raw));
}

/** Writes the pod `namespace/name` on a node; without a node, deletes it. */
export function pod(cluster: Cluster, key: string, node: string | undefined): void {
  const [namespace = '', name = ''] = key.split('/');
  const raw = { metadata: meta(name, { namespace }), spec: { nodeName: node } };
  cluster.change('pods', key, node === undefined ? undefined : parsePod(raw));
}

/** Writes a node with a chassis in a zone. */
export function placedNode(cluster: Cluster, name: string, chassis: string, zone: string): void {
  const labels = { 'topology.kubernetes.io/zone': zone };
  const annotations = { 'ovn.kubernetes.io/chassis': chassis };
  cluster.change('nodes', name, parseNode({ metadata: meta(name, { labels, annotations }) }));
}

/** The address of a pod in a cluster that is settled. */
export function addressOf(cluster: Cluster, key: string, family: Family = 4): string {
  return cluster.ports(`pod/${key}`)[0]?.allocation[`v${family}`] ?? '';
}

/** Writes the SwitchLBRule; without spec, deletes it. Its backends are pods with the label `app`, its port is 80. */
export function rule(cluster: Cluster, name: string, spec: object | undefined, more: Fields = {}): void {
  const whole = { namespace: 'default', selector: [`app:${name}`], ports: [{ port: 80, targetPort: 8080 }], ...spec };
  cluster.change('switchLbRules', name, spec && parseSwitchLbRule({ metadata: meta(name, more), spec: whole }));
}
