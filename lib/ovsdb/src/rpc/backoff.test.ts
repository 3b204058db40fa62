import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';

test('waits double from 0.1 s to 8 s, and begin again after a reset', () => {
  const backoff = new Backoff(() => 1);
  assert.deepEqual(
    Array.from({ length: 9 }, () => backoff.next()),
    [100, 200, 400, 800, 1600, 3200, 6400, 8000, 8000],
  );
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test('the jitter shortens a wait by at most half', () => {
  const backoff = new Backoff(() => 0);
  assert.deepEqual([backoff.next(), backoff.next()], [50, 100]);
});
