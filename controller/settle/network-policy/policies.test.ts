import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseNetworkPolicy } from '../../watch/network-policies.ts';
import { parseNamespace, parseNode, parsePod } from '../../watch/workloads.ts';

function start(): TestCluster {
  const cluster = new TestCluster();
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1') }));
  cluster.change('namespaces', 'a', parseNamespace({ metadata: meta('a') }));
  return cluster;
}

function pod(cluster: TestCluster, name: string, ports: readonly object[] = []): void {
  const metadata = meta(name, { namespace: 'a', labels: { app: name } });
  cluster.change('pods', `a/${name}`, parsePod({ metadata, spec: { nodeName: 'n1', containers: [{ ports }] } }));
}

function policy(cluster: TestCluster, spec: object): void {
  cluster.change('networkPolicies', 'a/one', parseNetworkPolicy({ metadata: meta('one', { namespace: 'a' }), spec }));
}

const namespace = (cluster: TestCluster, isDeleting: boolean): void =>
  cluster.change(
    'namespaces',
    'a',
    parseNamespace({ metadata: meta('a', isDeleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) }),
  );

test('a policy of a namespace that is being deleted ends with its last port', () => {
  const cluster = start();
  pod(cluster, 'web');
  pod(cluster, 'db');
  policy(cluster, { podSelector: {} });
  cluster.restore(new Map());
  cluster.settle();
  namespace(cluster, true);
  cluster.change('networkPolicies', 'a/one', undefined);
  cluster.change('pods', 'a/web', undefined);
  cluster.settle();
  assert.equal(cluster.policies.inForce.has('a/one'), true);
  assert.notEqual(planKey(cluster, 'network-policy/a/one').rows.length, 0);
  cluster.change('pods', 'a/db', undefined);
  const dirty = cluster.settle();
  assert.equal(cluster.policies.inForce.has('a/one'), false);
  assert.ok(dirty.has('network-policy/a/one'));
  assert.deepEqual(planKey(cluster, 'network-policy/a/one').rows, []);
});

test('a policy that its author deletes ends at once', () => {
  const cluster = start();
  pod(cluster, 'web');
  policy(cluster, { podSelector: {} });
  cluster.restore(new Map());
  cluster.settle();
  cluster.change('networkPolicies', 'a/one', undefined);
  assert.ok(cluster.settle().has('pod/a/web'));
  assert.equal(cluster.policies.inForce.size, 0);
  assert.ok(!JSON.stringify(planKey(cluster, 'pod/a/web')).includes('isolated'));
});

test('the numbers of a named port are known as long as a pod has them', () => {
  const cluster = start();
  policy(cluster, { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] });
  pod(cluster, 'web', [{ name: 'http', containerPort: 80 }]);
  pod(cluster, 'db', [
    { name: 'http', containerPort: 80 },
    { name: 'http', containerPort: 53, protocol: 'UDP' },
  ]);
  cluster.restore(new Map());
  cluster.settle();
  assert.deepEqual(cluster.policies.numbers('a/tcp/http'), [80]);
  assert.deepEqual(cluster.policies.numbers('*/udp/http'), [53]);
  cluster.change('pods', 'a/web', undefined);
  assert.ok(!cluster.settle().has('network-policy/a/one'));
  pod(cluster, 'db', [{ name: 'http', containerPort: 8080 }]);
  assert.ok(cluster.settle().has('network-policy/a/one'));
  assert.deepEqual(cluster.policies.numbers('a/tcp/http'), [8080]);
  assert.deepEqual(cluster.policies.numbers('*/udp/http'), []);
});
