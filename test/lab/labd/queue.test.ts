import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyedQueue } from './queue.ts';

interface Run {
  readonly key: string;
  readonly finish: () => void;
  readonly fail: () => void;
}

function queueOf(parallel: number): { queue: KeyedQueue; runs: Run[]; failures: string[] } {
  const runs: Run[] = [];
  const failures: string[] = [];
  const queue = new KeyedQueue({
    run: (key) =>
      new Promise((resolve, reject) => {
        runs.push({ key, finish: resolve, fail: () => reject(new Error('no')) });
      }),
    onFailure: (key) => failures.push(key),
    parallel,
    firstPauseMs: 5,
    longestPauseMs: 10,
  });
  return { queue, runs, failures };
}

test('a key never runs concurrently, and runs once more for all changes during a run', async () => {
  const { queue, runs } = queueOf(4);
  queue.add('a');
  queue.add('a');
  queue.add('a');
  assert.equal(runs.length, 1);
  runs[0]?.finish();
  await delay(1);
  assert.equal(runs.length, 2);
  runs[1]?.finish();
  await delay(1);
  assert.equal(runs.length, 2);
});

test('no more keys run at once than allowed', async () => {
  const { queue, runs } = queueOf(2);
  for (const key of ['a', 'b', 'c']) queue.add(key);
  assert.deepEqual(
    runs.map(({ key }) => key),
    ['a', 'b'],
  );
  runs[0]?.finish();
  await delay(1);
  assert.deepEqual(
    runs.map(({ key }) => key),
    ['a', 'b', 'c'],
  );
});

test('a failed key is requeued after a delay, and a change does not shorten the delay', async () => {
  const { queue, runs, failures } = queueOf(2);
  queue.add('a');
  runs[0]?.fail();
  await delay(1);
  queue.add('a');
  assert.equal(runs.length, 1);
  await delay(20);
  assert.deepEqual(failures, ['a']);
  assert.equal(runs.length, 2);
});
