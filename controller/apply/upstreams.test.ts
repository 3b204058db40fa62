import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { TestTimers } from '../../lib/rounds/testing.ts';
import type { UpstreamState } from '../model/settled.ts';
import { Upstreams, type UpstreamSession } from './upstreams.ts';

const key = 'blue-external/203.0.113.1';

function start(t: TestContext, recorded?: 'up' | 'down', isUp: boolean | 'begins' = false) {
  const timers = new TestTimers();
  const known: string[] = [];
  const textOf = (states: ReadonlyMap<string, UpstreamState>): string => [...states.values()].join() || 'silent';
  let changes = 0;
  const cluster = { setUpstreams: (states: ReadonlyMap<string, UpstreamState>) => void known.push(textOf(states)) };
  const upstreams = new Upstreams({ cluster, onChange: () => (changes += 1), timers });
  t.after(() => upstreams.close());
  const seen = (isNowUp: boolean | 'begins'): ReadonlyMap<string, UpstreamSession> =>
    new Map([[key, { ...(isNowUp !== 'begins' && { isUp: isNowUp }), ...(recorded !== undefined && { recorded }) }]]);
  upstreams.restore(seen(isUp));
  const see = (isNowUp: boolean | 'begins'): void => upstreams.set(seen(isNowUp));
  return { timers, known, upstreams, see, changes: () => changes };
}

test('a router that never answered is silent, however long that lasts, and up at its first answer', (t) => {
  const { timers, known, see } = start(t);
  see(false);
  timers.pass(600_000);
  assert.deepEqual(known, ['silent']);
  see(true);
  assert.deepEqual(known, ['silent', 'up']);
});

test('a short interruption changes nothing, a longer one does', (t) => {
  const { timers, known, see } = start(t, 'up', true);
  see(false);
  timers.pass(2900);
  see(true);
  timers.pass(10_000);
  see(false);
  timers.pass(2900);
  assert.deepEqual(known, ['up']);
  timers.pass(200);
  assert.deepEqual(known, ['up', 'down']);
});

test('a router that comes and goes is down until it has been up for half a minute', (t) => {
  const { timers, known, see } = start(t, 'up', true);
  for (let times = 0; times < 20; times += 1) {
    see(false);
    timers.pass(4000);
    see(true);
    timers.pass(20_000);
  }
  assert.deepEqual(known, ['up', 'down']);
  timers.pass(10_000);
  assert.deepEqual(known, ['up', 'down', 'up']);
});

test('a session that begins again counts as before: up after a move of the port, down after it was down', (t) => {
  const { timers, known, see } = start(t, 'up', true);
  see('begins');
  timers.pass(60_000);
  see(true);
  assert.deepEqual(known, ['up']);
  see(false);
  timers.pass(1000);
  see('begins');
  timers.pass(1900);
  assert.deepEqual(known, ['up']);
  timers.pass(200);
  assert.deepEqual(known, ['up', 'down']);
  timers.pass(60_000);
  assert.deepEqual(known, ['up', 'down']);
});

test('a router that only begins to answer is still silent', (t) => {
  const { timers, known, see } = start(t);
  see('begins');
  timers.pass(60_000);
  assert.deepEqual(known, ['silent']);
});

test('a start knows what the rows say, and changes nothing at once', (t) => {
  const gone = start(t, 'up', false);
  assert.deepEqual([gone.known, gone.changes()], [['up'], 0]);
  gone.timers.pass(3000);
  assert.deepEqual(gone.known, ['up', 'down']);
  const begins = [start(t, 'up', 'begins'), start(t, 'down', 'begins')];
  for (const { timers } of begins) timers.pass(60_000);
  assert.deepEqual(
    begins.map(({ known, changes }) => [known, changes()]),
    [
      [['up'], 0],
      [['down'], 0],
    ],
  );
  const back = start(t, 'down', true);
  back.timers.pass(29_000);
  assert.deepEqual([back.known, back.changes()], [['down'], 0]);
  back.timers.pass(1000);
  assert.deepEqual(back.known, ['down', 'up']);
});

test('a session without a row is forgotten: another one begins as silent', (t) => {
  const { timers, known, upstreams, see } = start(t, 'down');
  upstreams.set(new Map());
  see(false);
  timers.pass(60_000);
  assert.deepEqual(known, ['down', 'silent']);
});
