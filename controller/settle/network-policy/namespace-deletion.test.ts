import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeApiError } from '../../../lib/kube/errors.ts';
import type { RawObject } from '../../../lib/kube/types.ts';
import { isolationGroup } from '../../../lib/policies/group-names.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { planKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseNetworkPolicy } from '../../watch/network-policies.ts';
import { afterNamespaces } from '../../watch/watches.ts';
import { parseNamespace, parseNode, parsePod } from '../../watch/workloads.ts';

const names = ['web', 'db', 'mail'];
const rawNamespace = (isDeleting: boolean): RawObject => ({
  kind: 'Namespace',
  metadata: meta('a', isDeleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
});

function start(): TestCluster {
  const cluster = new TestCluster();
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1') }));
  return cluster;
}

/** Ports of the namespace that exist, and whether each is closed. */
function ports(cluster: TestCluster): readonly boolean[] {
  return names.flatMap((name) => {
    const { rows, contributions = [] } = planKey(cluster, `pod/a/${name}`);
    if (!rows.some(({ table }) => table === 'Logical_Switch_Port')) return [];
    return contributions.some(({ key }) => key === isolationGroup('ingress'));
  });
}

/** Deletes a Namespace; each watch brings it in order, but none knows where the others are. */
async function deletion(seed: number): Promise<void> {
  const random = randomOf(seed);
  const cluster = start();
  // What the API server has when it is asked.
  let isDeleting = false;
  let isGone = false;
  const onChange = afterNamespaces({
    client: {
      get: () =>
        isGone
          ? Promise.reject(new KubeApiError(404, 'NotFound', 'no namespace a'))
          : Promise.resolve(rawNamespace(isDeleting)),
    } as never,
    signal: new AbortController().signal,
    log: { warn: () => assert.fail('every question has an answer') } as never,
    onChange: (kind, key, after) => cluster.change(kind, key, after),
  });
  onChange('namespaces', 'a', parseNamespace(rawNamespace(false)));
  for (const name of names) {
    const metadata = meta(name, { namespace: 'a', labels: { app: name } });
    onChange('pods', `a/${name}`, parsePod({ metadata, spec: { nodeName: 'n1', containers: [] } }));
  }
  for (const name of ['one', 'two'])
    onChange(
      'networkPolicies',
      `a/${name}`,
      parseNetworkPolicy({ metadata: meta(name, { namespace: 'a' }), spec: { podSelector: {} } }),
    );
  cluster.restore(new Map());
  cluster.settle();
  assert.deepEqual(ports(cluster), [true, true, true]);

  isDeleting = true;
  const streams = [
    [
      () => onChange('namespaces', 'a', parseNamespace(rawNamespace(true))),
      () => onChange('namespaces', 'a', undefined),
    ],
    ['one', 'two'].map((name) => () => onChange('networkPolicies', `a/${name}`, undefined)),
    names.map((name) => () => onChange('pods', `a/${name}`, undefined)),
  ];
  while (streams.some((stream) => stream.length > 0)) {
    isGone ||= random(4) === 0;
    const stream = pick(
      random,
      streams.filter(({ length }) => length > 0),
    );
    stream.shift()?.();
    if (random(2) === 0) await new Promise((resolve) => setImmediate(resolve));
    cluster.settle();
    assert.ok(!ports(cluster).includes(false), `seed ${seed}: a pod is open`);
  }
  await new Promise((resolve) => setImmediate(resolve));
  cluster.settle();
  assert.deepEqual([ports(cluster), cluster.policies.inForce.size], [[], 0], `seed ${seed}`);
}

test('no pod of a Namespace that is being deleted is open, in whatever order watches tell', async () => {
  for (let seed = 1; seed <= 200; seed += 1) await deletion(seed);
});

/** A start after the policies of the Namespace are gone, with the ports that were isolated. */
function restarted(isDeleting: boolean): TestCluster {
  const cluster = start();
  cluster.change('namespaces', 'a', parseNamespace(rawNamespace(isDeleting)));
  for (const name of names) {
    const metadata = meta(name, { namespace: 'a' });
    cluster.change('pods', `a/${name}`, parsePod({ metadata, spec: { nodeName: 'n1', containers: [] } }));
  }
  cluster.restore(new Map());
  const isolated = new Map<PolicyDirection, ReadonlySet<string>>([
    ['ingress', new Set(['web.a', 'mail.a'])],
    ['egress', new Set()],
  ]);
  cluster.policies.restoreIsolated(isolated);
  cluster.settle();
  return cluster;
}

test('a restart keeps the isolated pods of a Namespace isolated that is being deleted', () => {
  const cluster = restarted(true);
  assert.deepEqual(ports(cluster), [true, false, true]);
  const { contributions = [] } = planKey(cluster, 'pod/a/web');
  assert.ok(!contributions.some(({ key }) => key === isolationGroup('egress')));
  cluster.change('pods', 'a/web', undefined);
  cluster.settle();
  assert.deepEqual(ports(cluster), [false, true]);
  cluster.change('namespaces', 'a', undefined);
  cluster.change('namespaces', 'a', parseNamespace(rawNamespace(false)));
  cluster.settle();
  assert.deepEqual(ports(cluster), [false, false], 'it is another Namespace');
});

test('a restart keeps no pod isolated in a Namespace that stays', () => {
  const cluster = restarted(false);
  assert.deepEqual(ports(cluster), [false, false, false]);
  cluster.change('namespaces', 'a', parseNamespace(rawNamespace(true)));
  cluster.settle();
  assert.deepEqual(ports(cluster), [false, false, false]);
});
