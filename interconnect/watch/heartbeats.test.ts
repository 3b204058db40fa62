import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { KubeUnreachable } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { Heartbeats } from './heartbeats.ts';

/** A node's object at the API server, and time that the test lets pass. */
function bed(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const server = { checkedAt: 'first', isAway: false, questions: 0 };
  const clock = { ms: 0 };
  let turns = 0;
  const list = (): Promise<readonly RawObject[]> => {
    server.questions += 1;
    if (server.isAway) return Promise.reject(new KubeUnreachable('away'));
    const metadata = { name: 'n1', uid: 'u', resourceVersion: '1' };
    return Promise.resolve([{ metadata, status: { checkedAt: server.checkedAt } }]);
  };
  const beats = new Heartbeats({
    client: { list },
    log: { debug: () => undefined },
    onChange: () => (turns += 1),
    now: () => clock.ms,
  });
  t.after(() => beats.stop());
  beats.seen('n1', 'first');
  beats.start();
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.ms += 1000;
      t.mock.timers.tick(1000);
      await turn();
    }
  };
  return { beats, server, clock, pass, turns: () => turns };
}

test('a daemon is silent once the API server twice returned the same heartbeat', async (t) => {
  const { beats, pass, turns } = bed(t);
  await pass(9);
  assert.deepEqual([...beats.silent], []);
  await pass(2);
  assert.deepEqual([...beats.silent], [['n1', 'first']]);
  await pass(60);
  assert.equal(turns(), 1);
  beats.seen('n1', 'second');
  assert.deepEqual([[...beats.silent], turns()], [[], 2]);
});

test('the API server is not asked while heartbeats arrive', async (t) => {
  const { beats, server, pass } = bed(t);
  for (let at = 0; at < 10; at += 1) {
    await pass(3);
    beats.seen('n1', `check ${at}`);
  }
  assert.deepEqual([[...beats.silent], server.questions], [[], 0]);
});

test('an outage of the API server makes no daemon silent, nor does its end before the daemon could write', async (t) => {
  const { beats, server, pass } = bed(t);
  server.isAway = true;
  await pass(60);
  server.isAway = false;
  await pass(3);
  assert.deepEqual([...beats.silent], []);
  server.checkedAt = 'after';
  await pass(20);
  assert.deepEqual([...beats.silent], [['n1', 'after']], 'and it is the newest that counts');
});

test('an agent that was suspended itself asks the API server before it reports silence', async (t) => {
  const { beats, server, clock, pass } = bed(t);
  clock.ms += 600_000;
  server.checkedAt = 'meanwhile';
  await pass(2);
  assert.deepEqual([...beats.silent], []);
});

test('a gateway without an object is not silent', async (t) => {
  const { beats, pass } = bed(t);
  await pass(20);
  beats.seen('n1', undefined);
  assert.deepEqual([...beats.silent], []);
});
