import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { TestTimers } from '../../lib/rounds/testing.ts';
import { parseClusterRules } from '../../lib/policies/parse-cluster.ts';
import { reportKey } from '../plan/plan.ts';
import { TestCluster } from '../testing-cluster.ts';
import { allApplied } from '../testing-reports.ts';
import { meta } from '../testing-vpcs.ts';
import { clusterPolicy, parseNetworkPolicy } from '../watch/network-policies.ts';
import { parseNamespace, parsePod } from '../watch/workloads.ts';
import { IdlePolicies } from './idle-policies.ts';

type Annotations = Readonly<Record<string, string>>;

/** A start of the controller, with a policy whose object has these annotations. */
function start(t: TestContext, { annotations = {}, hasPod = false }: { annotations?: Annotations; hasPod?: boolean }) {
  const cluster = new TestCluster();
  cluster.change('namespaces', 'a', parseNamespace({ metadata: meta('a') }));
  const metadata = meta('one', { namespace: 'a', annotations });
  cluster.change('networkPolicies', 'a/one', parseNetworkPolicy({ metadata, spec: { podSelector: {} } }));
  const job = (isThere: boolean): void => {
    const pod = meta('job', { namespace: 'a' });
    cluster.change('pods', 'a/job', isThere ? parsePod({ metadata: pod, spec: { nodeName: 'n1' } }) : undefined);
    cluster.settle();
  };
  job(hasPod);
  cluster.restore(new Map());
  cluster.settle();
  const timers = new TestTimers();
  let changes = 0;
  const idle = new IdlePolicies({ cluster, onChange: () => (changes += 1), timers });
  t.after(() => idle.close());
  idle.start();
  cluster.settle();
  const said = (): string => {
    const [report] = reportKey(cluster, 'network-policy/a/one', allApplied);
    return report?.annotations?.['isthmus.network/problem'] ?? '';
  };
  return { cluster, timers, job, said, changes: () => changes };
}

test('the pods of a CronJob come and go, and its policy says nothing', (t) => {
  const { timers, job, said, changes } = start(t, { hasPod: true });
  for (let time = 0; time < 5; time += 1) {
    job(false);
    timers.pass(55_000);
    assert.equal(said(), '');
    job(true);
    timers.pass(300_000);
    assert.equal(said(), '');
  }
  assert.equal(changes(), 0);
});

test('a policy says so a minute after its last pod', (t) => {
  const { cluster, timers, job, said, changes } = start(t, { hasPod: true });
  job(false);
  timers.pass(59_999);
  assert.deepEqual([said(), changes()], ['', 0]);
  timers.pass(1);
  assert.equal(changes(), 1);
  assert.ok(cluster.settle().has('network-policy/a/one'));
  assert.match(said(), /^SelectsNothing: /);
  job(true);
  assert.equal(said(), '');
});

test('a restart decides from the object', (t) => {
  const before = start(t, {});
  assert.equal(before.said(), '', 'its pods may have gone just now');
  before.timers.pass(60_000);
  const text = before.said();
  assert.match(text, /^SelectsNothing: /);
  const after = start(t, { annotations: { 'isthmus.network/problem': text } });
  assert.equal(after.said(), text);
  after.timers.pass(120_000);
  assert.deepEqual([after.said(), after.changes()], [text, 0]);
});

test('a restart decides from the conditions of a policy of the whole cluster', (t) => {
  const said = (message: string): string | undefined => {
    const cluster = new TestCluster();
    cluster.change('namespaces', 'a', parseNamespace({ metadata: meta('a') }));
    const metadata = meta('gate');
    const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} } };
    const conditions = [{ type: 'Ready', status: 'True', reason: 'SelectsNothing', message }];
    const raw = { metadata, spec, status: { conditions } };
    cluster.change('clusterNetworkPolicies', 'gate', clusterPolicy(raw, parseClusterRules(raw)));
    cluster.restore(new Map());
    cluster.settle();
    const idle = new IdlePolicies({ cluster, onChange: () => undefined, timers: new TestTimers() });
    t.after(() => idle.close());
    idle.start();
    const [report] = reportKey(cluster, 'cluster-policy/ClusterNetworkPolicy/gate', allApplied);
    const found = report?.status?.conditions.find(({ type }) => type === 'Ready');
    return `${found?.reason}: ${found?.message}`;
  };
  const first = said('');
  assert.match(first ?? '', /^PolicyReady/);
  const text =
    'spec.subject selects no pod that has the network of the cluster: until it does, the policy has no effect';
  assert.equal(said(text), `SelectsNothing: ${text}`);
  assert.equal(said(`another has the same priority; ${text}`), `SelectsNothing: ${text}`);
});
