import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDifference } from './difference.ts';

test('members of a set are toggled', () => {
  assert.deepEqual(applyDifference(['a', 'b'], ['b', 'c', 'A']), ['A', 'a', 'c']);
  assert.deepEqual(applyDifference([1, 20], [3]), [1, 3, 20]);
  assert.deepEqual(applyDifference(undefined, ['a']), ['a']);
});

test('an entry of a map is removed when repeated, else added or replaced', () => {
  assert.deepEqual(applyDifference({ a: '1', b: '2', c: '3' }, { a: '1', b: '9', d: '4' }), { b: '9', c: '3', d: '4' });
  assert.deepEqual(applyDifference({}, {}), {});
});
