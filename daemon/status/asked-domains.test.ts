import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AskedDomain } from '../../lib/api/kinds/asked-domains.ts';
import { encodeQuestion } from '../../lib/dns/message.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { ipBytes } from '../../lib/netlink/message.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { AskedDomainsReport, type AskingPod } from './asked-domains.ts';

const pods: ReadonlyMap<number, AskingPod> = new Map(
  [
    { name: 'web', labels: {} },
    { name: 'db', labels: {} },
    { name: 'coredns', labels: { 'k8s-app': 'kube-dns' } },
  ].map((pod, index) => [index + 1, { ...pod, namespace: 'shop', uid: pod.name }]),
);

/** A question in a frame, as the bridge copies it. */
function question(name: string): Buffer {
  const ip = Buffer.concat([
    Buffer.from('450000000000000040110000', 'hex'),
    ipBytes('10.16.0.2'),
    ipBytes('10.96.0.10'),
  ]);
  const udp = Buffer.from('9c40003500000000', 'hex');
  return Buffer.concat([Buffer.alloc(12), Buffer.from('0800', 'hex'), ip, udp, encodeQuestion(1, { name, family: 4 })]);
}

function open(known?: readonly AskedDomain[]) {
  const state = { patterns: new Set<string>(['*.example.com']), changed: () => {}, nowMs: 1_700_000_000_000 };
  const written: (readonly string[])[] = [];
  const events: string[] = [];
  const refusals: Error[] = [];
  const owners: unknown[] = [];
  const node = { name: 'n1', uid: 'node' };
  let changes = 0;
  const report = new AskedDomainsReport<AskingPod>({
    client: {
      patch(_resource, _name, _kind, body) {
        const refusal = refusals.pop();
        if (refusal !== undefined) return Promise.reject(refusal);
        const { metadata } = body as { metadata: { ownerReferences: { uid: string }[] } };
        owners.push(...metadata.ownerReferences.map(({ uid }) => uid));
        written.push((body as { spec: { names: AskedDomain[] } }).spec.names.map(({ name }) => name));
        return Promise.resolve({ metadata: { name: 'n1', uid: 'u', resourceVersion: '1' } });
      },
    },
    node,
    known,
    patterns: {
      get all() {
        return state.patterns;
      },
      subscribe: (listener) => (state.changed = listener),
    },
    podAt: (port) => pods.get(port),
    report: ({ name }, { code }) => events.push(`${name} ${code}`),
    onObserved: () => (changes += 1),
    log: { warn: () => undefined, info: () => undefined },
    clockMs: () => state.nowMs,
  });
  const ask = (port: number, name: string) =>
    report.take({ cookie: 0x0007_0000 + port, table: 0, frame: question(name) });
  return { report, ask, state, written, owners, node, events, refusals, changes: () => changes };
}

describe('the report of domain names', () => {
  it('has the names that pods ask for and policies name with *, in few writes', async () => {
    const { report, ask, written } = open();
    for (const name of ['b.example.com', 'a.example.com', 'a.example.net', 'a.example.com']) ask(1, name);
    ask(2, 'c.example.com');
    ask(3, 'resolved-for-others.example.com');
    ask(9, 'no-pod.example.com');
    report.take({ cookie: 1, table: 0, frame: question('cut.example.com').subarray(0, 60) });
    await eventually('one write', () => written.length > 0);
    assert.deepEqual(written, [['a.example.com', 'b.example.com', 'c.example.com']]);
    await report.close();
  });

  it('is not written after a restart if it is the same, and is once the object is gone', async () => {
    const { report, ask, written } = open([{ name: 'a.example.com', namespace: 'shop', since: 1 }]);
    ask(1, 'a.example.com');
    assert.deepEqual(written, []);
    report.gone();
    await eventually('a write', () => written.length > 0);
    assert.deepEqual(written, [['a.example.com']]);
    await report.close();
  });

  it('belongs to the Node as it is now', async () => {
    const { report, written, owners, node } = open([{ name: 'a.example.com', namespace: 'shop', since: 1 }]);
    node.uid = 'registered again';
    report.gone();
    await eventually('a write', () => written.length > 0);
    assert.deepEqual(owners, ['registered again']);
    await report.close();
  });

  it('is empty, and no pod is observed, without a name with *', async () => {
    const { report, state, written, changes } = open([{ name: 'a.example.com', namespace: 'shop', since: 1 }]);
    assert.equal(report.isObserved({ podUid: 'web' }), true);
    state.patterns = new Set();
    const before = changes();
    state.changed();
    assert.equal(report.isObserved({ podUid: 'web' }), false);
    assert.equal(changes(), before + 1);
    await eventually('a write', () => written.length > 0);
    assert.deepEqual(written, [[]]);
    await report.close();
  });

  it('does not observe a pod that floods, and says so once', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const { report, ask, state, events, changes } = open();
    const before = changes();
    for (let time = 0; time < 1000; time += 1) for (const port of [1, 3]) ask(port, 'a.example.com');
    assert.equal(report.isObserved({ podUid: 'web' }), false);
    assert.equal(report.isObserved({ podUid: 'db' }), true);
    assert.deepEqual(events, ['web TooManyDnsQuestions']);
    assert.equal(changes(), before + 1);
    t.mock.timers.tick(10_000);
    assert.equal(report.isObserved({ podUid: 'web' }), true);
    state.nowMs += 10_000;
    for (let time = 0; time < 1000; time += 1) ask(1, 'a.example.com');
    assert.equal(report.isObserved({ podUid: 'web' }), false);
    assert.equal(events.length, 1);
    t.mock.timers.reset();
    await report.close();
  });

  it('has a limit of names for a pod, with one event', async () => {
    const { report, ask, state, events, written } = open();
    for (let name = 0; name < 300; name += 1) {
      state.nowMs += 100;
      ask(1, `n${name}.example.com`);
    }
    assert.deepEqual(events, ['web TooManyDomainNames']);
    await eventually('a write', () => written.length > 0);
    assert.equal(written[0]?.length, 100);
    await report.close();
  });

  it('is written seldom if one name comes after the other', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const { report, ask, state, written } = open();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const counts: number[] = [];
    for (let name = 0; name < 95; name += 1) {
      state.nowMs += 250;
      ask(1, `n${name}.example.com`);
      nowMs += 250;
      t.mock.timers.tick(250);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      if (name === 19) counts.push(written.length);
    }
    counts.push(written.length);
    assert.ok((counts[0] ?? 0) <= 11 && (counts[0] ?? 0) >= 8, `${counts[0]} writes in 5 seconds`);
    assert.ok((counts[1] ?? 0) <= 25, `${counts[1]} writes in 24 seconds`);
    nowMs += 10_000;
    t.mock.timers.tick(10_000);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    assert.equal(written.at(-1)?.length, 95);
    t.mock.timers.reset();
    await report.close();
  });

  it('is written once the API server accepts it', async (t) => {
    const { report, ask, written, refusals } = open();
    refusals.push(new KubeApiError(404, 'NotFound', 'the kind is not served'));
    t.mock.timers.enable({ apis: ['setTimeout'] });
    ask(1, 'a.example.com');
    for (let time = 0; time < 10 && written.length === 0; time += 1) {
      t.mock.timers.tick(30_000);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    }
    assert.deepEqual(written, [['a.example.com']]);
    t.mock.timers.reset();
    await report.close();
  });
});
