import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from '../value.ts';
import { MirroredTable } from './table-cache.ts';

const row = (uuid: string, name: string | null, ids: Record<string, string>): Row => ({
  _uuid: uuid,
  name,
  external_ids: ids,
});

test('indexes follow inserts, changes and deletions', () => {
  const table = new MirroredTable('T', [['name'], ['external_ids:owner'], ['name', 'external_ids:owner']]);
  const names = (columns: readonly string[], ...values: readonly string[]): readonly string[] =>
    table.byIndex(columns, values).map((found) => found._uuid);
  const first = row('1', 'a', { owner: 'x' });
  const second = row('2', 'b', { owner: 'x' });
  table.put('1', undefined, first);
  table.put('2', undefined, second);
  table.put('3', undefined, row('3', null, {}));
  assert.deepEqual(names(['external_ids:owner'], 'x'), ['1', '2']);
  assert.deepEqual(names(['name', 'external_ids:owner'], 'b', 'x'), ['2']);

  const renamed = row('1', 'c', { owner: 'y' });
  table.put('1', first, renamed);
  assert.deepEqual(names(['name'], 'a'), []);
  assert.equal(table.byIndex(['name'], ['c'])[0], renamed);
  assert.deepEqual(names(['external_ids:owner'], 'x'), ['2']);

  table.put('2', second, undefined);
  assert.deepEqual(names(['external_ids:owner'], 'x'), []);
  assert.equal(table.rows.size, 2);
});

test('an index returns the new value of a changed row, also if its key is the same', () => {
  const table = new MirroredTable('T', [['name']]);
  const before = row('1', 'a', {});
  const after = row('1', 'a', { k: 'v' });
  table.put('1', undefined, before);
  table.put('1', before, after);
  assert.deepEqual(table.byIndex(['name'], ['a']), [after]);
});

test('a look-up by columns without an index throws', () => {
  const table = new MirroredTable('T', []);
  assert.throws(() => table.byIndex(['name'], ['a']), { name: 'TypeError', message: /table T has no index over name/ });
});
