import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextBatch } from './next-batch.ts';
import { Plans } from './plans.ts';

test('owners that belong together are in one batch, whatever its size, by their plans before and after', () => {
  const plans = new Plans();
  const dirty = new Map(['a', 'b', 'c', 'd', 'e'].map((owner) => [owner, 1]));
  plans.replace('a', { rows: [], together: 'pair' });
  plans.replace('b', { rows: [] });
  plans.replace('c', { rows: [], together: 'pair' });
  plans.replace('d', { rows: [], together: 'other' });
  plans.replace('e', { rows: [], together: 'pair' });
  plans.commit('e', plans.desiredOf('e'));
  plans.replace('e', undefined);
  plans.replace('clean', { rows: [], together: 'pair' });
  const first = nextBatch({ dirty, size: 1, plans });
  assert.deepEqual([...first].sort(), ['a', 'c', 'e']);
  for (const owner of first) dirty.delete(owner);
  assert.deepEqual(nextBatch({ dirty, size: 1, plans }), ['b']);
  assert.deepEqual(nextBatch({ dirty, size: 2, plans }), ['b', 'd']);
});
