import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quieted } from './quieted.ts';

test('a call that is requested without a pause still runs', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  let runs = 0;
  const ask = quieted(2500, 5000, () => (runs += 1));
  for (; nowMs < 19_000; nowMs += 100, t.mock.timers.tick(100)) ask();
  assert.equal(runs, 3);
  ask();
  t.mock.timers.tick(5000);
  assert.equal(runs, 4);
});
