import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBucket } from './token-bucket.ts';

test('a bucket gives its burst at once, then one after each refill, and never more than the burst', () => {
  const bucket = new TokenBucket({ burst: 2, refillMs: 100 }, 0);
  const taken = (times: number, atMs: number) => Array.from({ length: times }, () => bucket.take(atMs));
  assert.deepEqual(taken(3, 0), [true, true, false]);
  assert.equal(bucket.waitMs, 100);
  assert.deepEqual(taken(1, 40), [false]);
  assert.equal(bucket.waitMs, 60);
  assert.deepEqual(taken(2, 100), [true, false]);
  assert.deepEqual(taken(3, 10_000), [true, true, false]);
});
