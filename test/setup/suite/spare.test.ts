import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnceFor, type CpuTimes, IdleTime } from './spare.ts';

test('one more job runs while it fits into the idle CPU time, and one less when nothing is idle, down to the usual number', () => {
  const numbers: number[] = [];
  let now = 3;
  for (const share of [0.2, 0.25, 0.19, 0.2, 0.16, 0.5, 0.5, 0.05, 0.12, 0, 0, 0])
    numbers.push((now = atOnceFor(share, now, 3)));
  assert.deepEqual(numbers, [3, 4, 4, 5, 5, 6, 6, 5, 5, 4, 3, 3]);
});

test('the idle share is that since the last look', () => {
  let now: CpuTimes = { idleMs: 1000, allMs: 1000 };
  const idle = new IdleTime(() => now);
  const pass = (idleMs: number, busyMs: number): void => {
    now = { idleMs: now.idleMs + idleMs, allMs: now.allMs + idleMs + busyMs };
  };
  assert.equal(idle.look(), 0);
  pass(20, 80);
  assert.equal(idle.look(), 0.2);
  pass(90, 10);
  assert.equal(idle.look(), 0.9);
});

test('that of this machine is a share', () => {
  const idle = new IdleTime();
  const share = idle.look();
  assert.ok(share >= 0 && share <= 1, String(share));
});
