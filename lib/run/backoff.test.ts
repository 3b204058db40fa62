import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { backoffMs } from './backoff.ts';

test('the ceiling doubles up to the maximum and jitter takes any part of it', () => {
  const limits = { baseMs: 100, maxMs: 1000 };
  const ceilings = [0, 1, 2, 3, 4, 1000].map((attempt) => backoffMs(attempt, limits, () => 0.999_999));
  assert.deepEqual(ceilings, [99, 199, 399, 799, 999, 999]);
  assert.equal(
    backoffMs(5, limits, () => 0),
    0,
  );
  assert.equal(
    backoffMs(1, limits, () => 0.5),
    100,
  );
});
