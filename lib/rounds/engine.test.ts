import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoundEngine, type Round, type RoundEngineOptions } from './engine.ts';
import { TestTimers } from './testing.ts';

type Seen = readonly [atMs: number, ...keys: string[]];

/** Rounds that were started and have run once, with all that run later. */
function started(options: Partial<RoundEngineOptions<string>> = {}) {
  const timers = new TestTimers();
  const seen: Seen[] = [];
  const run = ({ keys }: Round<string>): void => void seen.push([timers.nowMs(), ...keys]);
  const rounds = new RoundEngine<string>({ run, timers, ...options });
  rounds.start();
  seen.splice(0);
  return { rounds, timers, seen };
}

test('no round runs before the start; the first round takes all requests until then', () => {
  const timers = new TestTimers();
  const seen: string[][] = [];
  const rounds = new RoundEngine<string>({ run: ({ keys }) => void seen.push([...keys]), timers });
  rounds.request('a');
  timers.pass(1000);
  assert.deepEqual(seen, []);
  rounds.start();
  rounds.start();
  assert.deepEqual(seen, [['a']]);
  timers.pass(1000);
  assert.deepEqual(seen, [['a']]);
});

test('requests in one turn of the event loop are one round', async () => {
  const seen: string[][] = [];
  const rounds = new RoundEngine<string>({ run: ({ keys }) => void seen.push([...keys]) });
  rounds.start();
  rounds.request('a');
  rounds.request('b', 'a');
  assert.deepEqual(seen, [[]]);
  await rounds.untilApplied();
  assert.deepEqual(seen, [[], ['a', 'b']]);
});

test('a burst is gathered from its first request on', () => {
  const { rounds, timers, seen } = started({ gatherMs: 5 });
  rounds.request('a');
  timers.pass(4);
  rounds.request('b');
  timers.pass(1);
  assert.deepEqual(seen, [[5, 'a', 'b']]);
});

test('rounds keep their distance from start to start', () => {
  const { rounds, timers, seen } = started({ gatherMs: 5, spacingMs: 40 });
  timers.pass(100);
  rounds.request('a');
  timers.pass(10);
  rounds.request('b');
  timers.pass(100);
  assert.deepEqual(seen, [
    [105, 'a'],
    [145, 'b'],
  ]);
});

test('the distance may depend on the duration of the former round', () => {
  const timers = new TestTimers();
  const startedMs: number[] = [];
  const run = (): void => {
    startedMs.push(timers.nowMs());
    timers.pass(10);
  };
  const rounds = new RoundEngine({ run, timers, spacingMs: (tookMs) => 5 * tookMs });
  rounds.start();
  rounds.request();
  timers.pass(1000);
  assert.deepEqual(startedMs, [0, 50]);
});

test('an urgent request waits for neither gathering nor distance, and includes the gathered requests', () => {
  const { rounds, timers, seen } = started({ gatherMs: 20, spacingMs: 100 });
  rounds.request('a');
  timers.pass(1);
  rounds.urgent('b');
  assert.deepEqual(seen, []);
  timers.pass(0);
  assert.deepEqual(seen, [[1, 'a', 'b']]);
  timers.pass(1000);
  assert.equal(seen.length, 1);
});

test('a request that is not gathered keeps the distance', () => {
  const { rounds, timers, seen } = started({ gatherMs: 50, spacingMs: 20 });
  timers.pass(5);
  rounds.soon('a');
  timers.pass(14);
  assert.deepEqual(seen, []);
  timers.pass(1);
  assert.deepEqual(seen, [[20, 'a']]);
  rounds.request('b');
  timers.pass(30);
  assert.deepEqual(seen, [[20, 'a']], 'the next one is gathered again');
});

test('a key becomes dirty by itself after the earlier of two delays, unless a round took it before', () => {
  const { rounds, timers, seen } = started({ gatherMs: 5 });
  rounds.wakeAfter(100, 'a');
  rounds.wakeAfter(50, 'a');
  rounds.wakeAfter(70, 'b');
  timers.pass(60);
  assert.deepEqual(seen, [[50, 'a']]);
  rounds.request('b');
  timers.pass(1000);
  assert.deepEqual(seen, [
    [50, 'a'],
    [65, 'b'],
  ]);
});

test('a wake-up without a key is cancelled by any round', () => {
  const { rounds, timers, seen } = started();
  rounds.wakeAfter(10);
  timers.pass(10);
  rounds.wakeAfter(50);
  rounds.wakeAfter(Infinity);
  timers.pass(20);
  rounds.request('a');
  timers.pass(1000);
  assert.deepEqual(seen, [[10], [30, 'a']]);
});

test('one round runs at a time; requests meanwhile are gathered from its end on', async () => {
  const running: (() => void)[] = [];
  const timers = new TestTimers();
  const seen: Seen[] = [];
  const rounds = new RoundEngine<string>({
    gatherMs: 5,
    timers,
    run: (round) => {
      seen.push([timers.nowMs(), ...round.keys]);
      return new Promise((resolve) => running.push(() => resolve()));
    },
  });
  rounds.start();
  rounds.request('a');
  timers.pass(100);
  assert.deepEqual(seen, [[0]]);
  running[0]?.();
  await rounds.untilApplied(1);
  timers.pass(4);
  assert.equal(seen.length, 1);
  timers.pass(1);
  assert.deepEqual(seen, [[0], [105, 'a']]);
});

test('a revision is applied when its round is written, whatever was requested since', async () => {
  const writes: (() => void)[] = [];
  const { rounds, timers } = started({ untilWritten: () => new Promise<void>((resolve) => writes.push(resolve)) });
  const first = rounds.request('a');
  timers.pass(0);
  const second = rounds.request('b');
  timers.pass(0);
  assert.deepEqual([first, second, rounds.revision], [2, 3, 3]);
  const applied: number[] = [];
  const both = [first, second].map((revision) => rounds.untilApplied(revision).then(() => applied.push(revision)));
  writes[1]?.();
  await both[0];
  assert.deepEqual(applied, [2]);
  writes[2]?.();
  await both[1];
  assert.deepEqual(applied, [2, 3]);
  await rounds.untilApplied(1);
});

test('keys of a round that applied nothing are dirty again, and its revision waits for the round that does', async () => {
  const taken: string[][] = [];
  const outcomes = [true, false, true];
  const timers = new TestTimers();
  const rounds = new RoundEngine<string>({
    timers,
    run: ({ keys }) => {
      taken.push([...keys]);
      return outcomes.shift() ?? true;
    },
  });
  rounds.start();
  const revision = rounds.request('a');
  timers.pass(0);
  let isApplied = false;
  const applied = rounds.untilApplied(revision).then(() => {
    isApplied = true;
  });
  await new Promise(setImmediate);
  assert.equal(isApplied, false);
  rounds.wakeAfter(10, 'b');
  timers.pass(10);
  await applied;
  assert.deepEqual(taken, [[], ['a'], ['a', 'b']]);
});

test('a round knows how long its oldest request has waited', () => {
  const waited: number[] = [];
  const { rounds, timers } = started({ gatherMs: 20, run: ({ waitedMs }) => void waited.push(waitedMs) });
  rounds.request();
  timers.pass(5);
  rounds.request();
  timers.pass(15);
  assert.deepEqual(waited, [0, 20]);
});

test('the engine ends with the signal, after the running round', async () => {
  const abort = new AbortController();
  let finish: (() => void) | undefined;
  let isEnded = false;
  const rounds = new RoundEngine({ run: () => new Promise<void>((resolve) => (finish = resolve)) });
  const running = rounds.run(abort.signal).then(() => {
    isEnded = true;
  });
  rounds.request();
  abort.abort();
  await new Promise(setImmediate);
  assert.equal(isEnded, false);
  finish?.();
  await running;
  await new RoundEngine({ run: () => assert.fail('a round after the end') }).run(abort.signal);
});

test('an error of a round ends the engine', async () => {
  const signal = new AbortController().signal;
  const error = new Error('an unknown error');
  const broken: (() => void | Promise<void>)[] = [
    () => {
      throw error;
    },
    () => Promise.reject(error),
  ];
  for (const run of broken) await assert.rejects(new RoundEngine({ run }).run(signal), error);
  assert.throws(() => new RoundEngine({ run: broken[0]! }).start(), error);
  let isFirst = true;
  const later = new RoundEngine({
    run: () => {
      if (isFirst) isFirst = false;
      else throw error;
    },
  });
  const running = later.run(signal);
  later.request();
  await assert.rejects(running, error);
});
