import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoundEngine } from './engine.ts';
import { spacingUnderLoad, spacingWithin } from './spacing.ts';
import { TestTimers } from './testing.ts';

test('long rounds run less often, and still after the last request', () => {
  const timers = new TestTimers();
  const startedMs: number[] = [];
  const run = (): void => {
    startedMs.push(timers.nowMs());
    timers.pass(200);
  };
  const engine = new RoundEngine({ run, timers, spacingMs: spacingUnderLoad(100) });
  engine.start();
  for (let step = 0; step < 21; step++, timers.pass(100)) engine.request();
  timers.pass(2000);
  assert.deepEqual(startedMs, [0, 1000, 2000, 3000]);
});

test('short rounds keep the distance', () => {
  assert.equal(spacingUnderLoad(100)(0), 100);
  assert.equal(spacingUnderLoad(100)(10), 110);
});

test('no request waits longer than it may after a round', () => {
  assert.equal(spacingWithin(100)(0), 0);
  assert.equal(spacingWithin(100)(10), 50);
  assert.equal(spacingWithin(100)(400), 500);
});
