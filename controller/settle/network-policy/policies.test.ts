import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planKey, reportKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { allApplied } from '../../testing-reports.ts';
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
  policy(cluster, { podSelector: {}, ingress: [{}] });
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

test('pods without the network of the cluster give a named port no number', () => {
  const cluster = start();
  const ports = [{ name: 'http', containerPort: 80 }];
  const put = (spec: object, phase = 'Running'): void =>
    cluster.change(
      'pods',
      'a/web',
      parsePod({
        metadata: meta('web', { namespace: 'a' }),
        spec: { containers: [{ ports }], ...spec },
        status: { phase },
      }),
    );
  put({});
  assert.deepEqual(cluster.policies.numbers('a/tcp/http'), [], 'it is not scheduled');
  put({ nodeName: 'n1', hostNetwork: true });
  assert.deepEqual(cluster.policies.numbers('a/tcp/http'), []);
  put({ nodeName: 'n1' });
  assert.deepEqual(cluster.policies.numbers('a/tcp/http'), [80]);
  put({ nodeName: 'n1' }, 'Succeeded');
  assert.deepEqual(cluster.policies.numbers('a/tcp/http'), []);
});

test('of too many numbers of a named port the lowest count, and the policy says so', () => {
  const cluster = start();
  policy(cluster, { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] });
  const ports = Array.from({ length: 70 }, (_, index) => ({ name: 'http', containerPort: 100 - index }));
  pod(cluster, 'web', ports);
  cluster.restore(new Map());
  cluster.settle();
  assert.deepEqual(
    cluster.policies.numbers('a/tcp/http'),
    Array.from({ length: 64 }, (_, index) => 31 + index),
  );
  const [report] = reportKey(cluster, 'network-policy/a/one', allApplied);
  assert.match(
    String(report?.annotations?.['isthmus.network/problem']),
    /^TooManyNumbers: spec\.ingress\[0\]: .* http /,
  );
});

test('a pod of a namespace that is not known yet is a peer of its own namespace alone', () => {
  const cluster = start();
  const namespaceSelector = { matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['dev'] }] };
  policy(cluster, { podSelector: {}, ingress: [{ from: [{ namespaceSelector }, { podSelector: {} }] }] });
  const metadata = meta('early', { namespace: 'dev1' });
  cluster.change('pods', 'dev1/early', parsePod({ metadata, spec: { nodeName: 'n1' } }));
  pod(cluster, 'web');
  cluster.restore(new Map());
  cluster.settle();
  const isPeer = (key: string): boolean => JSON.stringify(planKey(cluster, `pod/${key}`)).includes('"sel.');
  assert.deepEqual([isPeer('a/web'), isPeer('dev1/early')], [true, false]);
  cluster.change('namespaces', 'dev1', parseNamespace({ metadata: meta('dev1', { labels: { env: 'test' } }) }));
  assert.ok(cluster.settle().has('pod/dev1/early'));
  assert.equal(isPeer('dev1/early'), true);
});

test('the author of a pod adds no address to the peers of a policy', () => {
  const cluster = start();
  policy(cluster, { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ podSelector: {} }] }] });
  const annotations = { 'ovn.kubernetes.io/port_vips': '192.0.2.7' };
  const metadata = meta('web', { namespace: 'a', annotations });
  cluster.change('pods', 'a/web', parsePod({ metadata, spec: { nodeName: 'n1' } }));
  cluster.restore(new Map());
  cluster.settle();
  const { contributions = [] } = planKey(cluster, 'pod/a/web');
  const inSets = contributions.filter(({ table }) => table === 'Address_Set').flatMap(({ values = [] }) => values);
  assert.deepEqual(inSets, ['10.16.0.2']);
});
