/** Clusters with many pods under many network policies, for tests of growth and for benchmarks. */
import { TestCluster } from './testing-cluster.ts';
import type { Planned } from './testing-groups.ts';
import { created, meta, subnet, vpc } from './testing-vpcs.ts';
import { parseNetworkPolicy } from './watch/network-policies.ts';
import { parseNamespace, parseNode, parsePod } from './watch/workloads.ts';

const namespaceCount = 100;
const applications = 20;

/** A pod of the namespace `ns<index mod 100>`, with a label of an application. */
export function policyPod(cluster: TestCluster, index: number, application = Math.floor(index / namespaceCount)): void {
  const namespace = `ns${index % namespaceCount}`;
  const labels = { app: `app${application % applications}` };
  const metadata = meta(`p${index}`, { namespace, labels, ...created(3) });
  cluster.change('pods', `${namespace}/p${index}`, parsePod({ metadata, spec: { nodeName: `n${index % 20}` } }));
}

/** Policies of all namespaces in turn: each selects an application, and names the pods of two other namespaces. */
export function clusterOfPolicies(policies: number, pods: number): Planned {
  const cluster = new TestCluster({ aclTier: true, ipv6Selection: true, loadBalancers: true });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  for (let i = 0; i < namespaceCount; i += 1)
    cluster.change('namespaces', `ns${i}`, parseNamespace({ metadata: meta(`ns${i}`, { labels: { team: `t${i}` } }) }));
  for (let i = 0; i < 20; i += 1) cluster.change('nodes', `n${i}`, parseNode({ metadata: meta(`n${i}`) }));
  for (let i = 0; i < policies; i += 1) {
    const namespace = `ns${i % namespaceCount}`;
    const from = [1, 2].map((step) => ({
      namespaceSelector: { matchLabels: { team: `t${(i + step) % namespaceCount}` } },
    }));
    const podSelector = { matchLabels: { app: `app${Math.floor(i / namespaceCount) % applications}` } };
    const spec = { podSelector, ingress: [{ from, ports: [{ port: 80 }, { port: 443 }] }] };
    cluster.change(
      'networkPolicies',
      `${namespace}/np${i}`,
      parseNetworkPolicy({ metadata: meta(`np${i}`, { namespace, ...created(3) }), spec }),
    );
  }
  for (let i = 0; i < pods; i += 1) policyPod(cluster, i);
  cluster.restore(new Map());
  return { cluster, keys: cluster.settle() };
}
