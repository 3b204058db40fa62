import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drain } from './drain.ts';

test('a node to be drained is Leaving first, and Drained once its neighbours had time', () => {
  const drain = new Drain();
  assert.equal(drain.phase(false, 3, 0), 'None');
  assert.equal(drain.leftMs(0), Infinity);
  assert.equal(drain.phase(true, 3, 1000), 'Leaving');
  assert.equal(drain.leftMs(2000), 2000);
  assert.equal(drain.phase(true, 3, 3999), 'Leaving');
  assert.equal(drain.phase(true, 3, 4000), 'Drained');
  assert.equal(drain.leftMs(4000), Infinity);
  assert.equal(drain.phase(false, 3, 5000), 'None');
});

test('a node that an earlier process drained does not leave once more', () => {
  const drain = new Drain();
  drain.resume();
  assert.equal(drain.phase(true, 3, 0), 'Drained');
});
