import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDifference } from './difference.ts';

test('the difference of a set toggles its members', () => {
  assert.deepEqual(applyDifference(['a', 'b'], ['b', 'c', 'A']), ['A', 'a', 'c']);
  assert.deepEqual(applyDifference([1, 20], [3]), [1, 3, 20]);
  assert.deepEqual(applyDifference(undefined, ['a']), ['a']);
});

test('the difference of a map removes an entry that is equal, and adds or replaces others', () => {
  assert.deepEqual(applyDifference({ a: '1', b: '2', c: '3' }, { a: '1', b: '9', d: '4' }), { b: '9', c: '3', d: '4' });
  assert.deepEqual(applyDifference({}, {}), {});
});

test('only the differing members of a long set are changed', () => {
  const before = Array.from({ length: 1000 }, (_, at) => `p${String(at * 2).padStart(4, '0')}`);
  const after = applyDifference(before, ['p0000', 'p0001', 'p0998', 'p1998', 'p1999', 'z']);
  const expected = new Set([...before, 'p0001', 'p1999', 'z']);
  for (const gone of ['p0000', 'p0998', 'p1998']) expected.delete(gone);
  assert.deepEqual(after, [...expected].sort());
});
