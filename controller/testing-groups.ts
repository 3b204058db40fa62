/** Clusters with many pods in many security groups, for tests of growth and for benchmarks. */
import { planKey } from './plan/plan.ts';
import { TestCluster } from './testing-cluster.ts';
import { created, meta, subnet, vpc } from './testing-vpcs.ts';
import { parseSecurityGroup } from './watch/networks.ts';
import { parseNamespace, parseNode, parsePod } from './watch/workloads.ts';

export function group(cluster: TestCluster, name: string, remote: string): void {
  const rule = { ipVersion: 'ipv4', protocol: 'tcp', priority: 1, policy: 'allow', portRangeMin: 80, portRangeMax: 80 };
  const ingressRules = [{ ...rule, remoteType: 'securityGroup', remoteSecurityGroup: remote }];
  cluster.change('securityGroups', name, parseSecurityGroup({ metadata: meta(name), spec: { ingressRules } }));
}

export function pod(cluster: TestCluster, index: number, groups: number, rate = 1): void {
  const annotations = {
    'ovn.kubernetes.io/ingress_rate': `${rate}`,
    ...(groups > 0 && { 'ovn.kubernetes.io/security_groups': `sg${index % groups}` }),
  };
  const metadata = meta(`p${index}`, { namespace: 'ns', annotations, ...created(3) });
  cluster.change('pods', `ns/p${index}`, parsePod({ metadata, spec: { nodeName: `n${index % 20}` } }));
}

export interface Planned {
  readonly cluster: TestCluster;
  readonly keys: ReadonlySet<string>;
}

/** Pods in so many groups, ten of them in each where there are a thousand; with the keys of the full round. */
export function clusterOf(groups: number, size: number): Planned {
  const cluster = new TestCluster();
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  for (let i = 0; i < 20; i += 1) cluster.change('nodes', `n${i}`, parseNode({ metadata: meta(`n${i}`) }));
  for (let i = 0; i < groups; i += 1) group(cluster, `sg${i}`, `sg${(i + 1) % groups}`);
  for (let i = 0; i < size; i += 1) pod(cluster, i, groups);
  cluster.restore(new Map());
  return { cluster, keys: cluster.settle() };
}

/** A full plan. */
export function planAll({ cluster, keys }: Planned): void {
  for (const key of keys) planKey(cluster, key);
}
