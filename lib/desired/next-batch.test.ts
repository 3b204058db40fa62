import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextBatch } from './next-batch.ts';
import { Plans } from './plans.ts';
import type { Desired } from './row.ts';

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

test('owners with contributions to a row come with rows that move to it, and not with rows that are new', () => {
  const group = (key: string): Desired => ({
    rows: [{ table: 'Port_Group', key, columns: {}, collects: ['ports'] }],
  });
  const rules = (key: string): Desired => ({
    rows: [{ table: 'ACL', key: `rule-${key}`, columns: {}, parent: { table: 'Port_Group', key, column: 'acls' } }],
  });
  const member = (...keys: readonly string[]): Desired => ({
    rows: [],
    contributions: keys.map((key) => ({ table: 'Port_Group', key, column: 'ports', values: ['port'] })),
  });
  const plans = new Plans();
  const put = (owner: string, desired: Desired): void => {
    plans.replace(owner, desired);
    plans.commit(owner, plans.desiredOf(owner));
  };
  for (const key of ['old', 'new']) put(`group-${key}`, group(key));
  put('policy', rules('old'));
  put('pod', member('old'));
  put('other', member('old'));
  plans.replace('policy', rules('new'));
  plans.replace('pod', member('old', 'new'));
  plans.replace('other', member());
  plans.replace('fresh', rules('new'));
  assert.deepEqual(
    nextBatch({
      dirty: new Map([
        ['fresh', 1],
        ['pod', 1],
      ]),
      size: 1,
      plans,
    }),
    ['fresh'],
  );
  const dirty = new Map(['policy', 'pod', 'other'].map((owner) => [owner, 1]));
  assert.deepEqual(nextBatch({ dirty, size: 1, plans }), ['policy', 'pod']);
});
