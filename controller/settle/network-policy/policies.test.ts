import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseClusterRules } from '../../../lib/policies/parse-cluster.ts';
import { selectedBy } from '../../../lib/policies/selection.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { wantsNetwork } from '../../model/interfaces.ts';
import { planKey, reportKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { allApplied } from '../../testing-reports.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { clusterPolicy, parseNetworkPolicy } from '../../watch/network-policies.ts';
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

describe('what waits for pods', () => {
  const said = (cluster: TestCluster): string => {
    const [report] = reportKey(cluster, 'network-policy/a/one', allApplied);
    return report?.annotations?.['isthmus.network/problem'] ?? '';
  };
  const isDirty = (cluster: TestCluster): boolean => cluster.settle().has('network-policy/a/one');

  test('is a policy that selects none, until it does', () => {
    const cluster = start();
    policy(cluster, { podSelector: { matchLabels: { app: 'web' } } });
    pod(cluster, 'db');
    cluster.restore(new Map());
    cluster.settle();
    assert.match(said(cluster), /^SelectsNothing: spec\.podSelector selects no pod/);
    pod(cluster, 'web');
    assert.ok(isDirty(cluster));
    assert.equal(said(cluster), '');
    const second = meta('second', { namespace: 'a', labels: { app: 'web' } });
    const put = (spec: object): void =>
      cluster.change('pods', 'a/second', parsePod({ metadata: second, spec: { nodeName: 'n1', ...spec } }));
    put({});
    cluster.change('pods', 'a/web', undefined);
    assert.ok(!isDirty(cluster));
    put({ hostNetwork: true });
    assert.ok(isDirty(cluster));
    assert.equal(said(cluster), '', 'pods may come back');
    cluster.policies.forgetPods('a/one');
    assert.ok(isDirty(cluster));
    assert.match(said(cluster), /^SelectsNothing/);
    cluster.policies.forgetPods('a/one');
    assert.ok(!isDirty(cluster));
    policy(cluster, { podSelector: {} });
    cluster.settle();
    assert.equal(said(cluster), '');
    namespace(cluster, false);
    cluster.change('pods', 'a/db', undefined);
    assert.ok(isDirty(cluster));
    assert.equal(said(cluster), '');
    pod(cluster, 'db');
    cluster.policies.forgetPods('a/one');
    assert.equal(said(cluster), '', 'a pod came back');
    cluster.change('pods', 'a/db', undefined);
    policy(cluster, { podSelector: { matchLabels: { app: 'typo' } } });
    cluster.settle();
    assert.match(said(cluster), /^SelectsNothing/, 'its author sees it at once');
  });

  test('is a policy of the whole cluster that selects none, also by the labels of Namespaces', () => {
    const cluster = start();
    const spec = {
      tier: 'Admin',
      priority: 1,
      subject: { namespaces: { matchLabels: { team: 'x' } } },
      ingress: [{ action: 'Deny', from: [{ namespaces: {} }], protocols: [{ destinationNamedPort: 'http' }] }],
    };
    const metadata = meta('gate');
    cluster.change(
      'clusterNetworkPolicies',
      'gate',
      clusterPolicy({ metadata }, parseClusterRules({ metadata, spec })),
    );
    pod(cluster, 'web');
    cluster.restore(new Map());
    cluster.settle();
    const reason = (): string | undefined =>
      reportKey(cluster, 'cluster-policy/ClusterNetworkPolicy/gate', allApplied)[0]?.status?.conditions.find(
        ({ type }) => type === 'Ready',
      )?.reason;
    const label = (labels: object): void => {
      cluster.change('namespaces', 'a', parseNamespace({ metadata: meta('a', { labels }) }));
      assert.ok(cluster.settle().has('cluster-policy/ClusterNetworkPolicy/gate'));
    };
    assert.equal(reason(), 'UnknownPort');
    pod(cluster, 'web', [{ name: 'http', containerPort: 53, protocol: 'UDP' }]);
    cluster.settle();
    assert.equal(reason(), 'SelectsNothing');
    label({ team: 'x' });
    assert.equal(reason(), 'PolicyReady');
    label({});
    assert.equal(reason(), 'PolicyReady');
    cluster.policies.forgetPods('ClusterNetworkPolicy/gate');
    assert.equal(reason(), 'SelectsNothing');
  });

  test('is a rule with the name of a port that no pod has', () => {
    const cluster = start();
    policy(cluster, { podSelector: {}, ingress: [{}, { ports: [{ port: 80 }, { port: 'http' }] }] });
    pod(cluster, 'web', [{ name: 'http', containerPort: 53, protocol: 'UDP' }]);
    cluster.restore(new Map());
    cluster.settle();
    assert.match(
      said(cluster),
      /^UnknownPort: spec\.ingress\[1\]: no pod in namespace a has a port with the name http\/TCP/,
    );
    pod(cluster, 'web', [{ name: 'http', containerPort: 80 }]);
    assert.ok(isDirty(cluster));
    assert.equal(said(cluster), '');
  });

  test('and the numbers are those of a new count, after random changes', () => {
    const random = randomOf(5);
    const labels = () => ({ app: pick(random, ['x', 'y', 'z']) });
    const cluster = start();
    for (const name of ['a', 'b']) cluster.change('namespaces', name, parseNamespace({ metadata: meta(name) }));
    cluster.restore(new Map());
    const selector = () => pick(random, [{}, { matchLabels: labels() }]);
    for (let step = 0; step < 600; step += 1) {
      const space = pick(random, ['a', 'b']);
      const what = random(8);
      if (what === 0) {
        const metadata = meta(space, { labels: { team: pick(random, ['x', 'y']) } });
        cluster.change('namespaces', space, random(6) === 0 ? undefined : parseNamespace({ metadata }));
      } else if (what === 1) {
        const metadata = meta('gate');
        const namespaces = pick(random, [{}, { matchLabels: { team: 'x' } }]);
        const spec = { tier: 'Admin', subject: { pods: { namespaceSelector: namespaces, podSelector: selector() } } };
        const rules = clusterPolicy({ metadata }, parseClusterRules({ metadata, spec }));
        cluster.change('clusterNetworkPolicies', 'gate', random(3) === 0 ? undefined : rules);
      } else if (what === 2) {
        const metadata = meta('one', { namespace: space });
        const value = parseNetworkPolicy({ metadata, spec: { podSelector: selector() } });
        cluster.change('networkPolicies', `${space}/one`, random(3) === 0 ? undefined : value);
      } else {
        const name = `p${random(3)}`;
        const metadata = meta(name, { namespace: space, labels: labels() });
        const spec = { ...(random(4) > 0 && { nodeName: 'n1' }), hostNetwork: random(6) === 0 };
        cluster.change('pods', `${space}/${name}`, random(3) === 0 ? undefined : parsePod({ metadata, spec }));
      }
      cluster.settle();
      for (const [name, one] of cluster.policies.inForce) {
        const wanted = selectedBy(one);
        const keys = wanted === undefined ? [] : cluster.policies.podsMatching(wanted);
        const isSelecting = keys.some((key) => {
          const found = cluster.pods.get(key);
          return found !== undefined && wantsNetwork(found);
        });
        assert.equal(cluster.policies.selectsPods(name), isSelecting, `step ${step}: ${name}`);
      }
    }
  });
});
