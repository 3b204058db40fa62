import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OvsdbProtocolError } from '../errors.ts';
import { parseSchema } from '../schema/parse.ts';
import type { ColumnSchema } from '../schema/schema.ts';
import type { WriteValue } from '../value.ts';
import { sameValue } from './compare.ts';
import { decoderOf, defaultOf } from './decode.ts';
import { encodeValue } from './encode.ts';

const uuid = '550e8400-e29b-41d4-a716-446655440000';

function column(type: unknown): ColumnSchema {
  const schema = parseSchema({ name: 'D', version: '1.0.0', tables: { T: { columns: { c: { type } } } } });
  return schema.tables['T']?.columns['c'] as ColumnSchema;
}

const scalar = column('string');
const optional = column({ key: 'integer', min: 0, max: 1 });
const set = column({ key: 'integer', min: 0, max: 'unlimited' });
const map = column({ key: 'string', value: 'string', min: 0, max: 'unlimited' });
const numbered = column({ key: 'integer', value: { type: 'uuid', refTable: 'T' }, min: 0, max: 'unlimited' });
const reference = column({ key: { type: 'uuid', refTable: 'T' } });

test('decoding: optional columns are null, sets are sorted, maps are objects', () => {
  const cases: readonly [ColumnSchema, unknown, unknown][] = [
    [scalar, 'a', 'a'],
    [optional, ['set', []], null],
    [optional, 7, 7],
    [optional, ['set', [7]], 7],
    [set, 3, [3]],
    [set, ['set', [10, 9, -1]], [-1, 9, 10]],
    [
      map,
      [
        'map',
        [
          ['b', '1'],
          ['a', '2'],
        ],
      ],
      { a: '2', b: '1' },
    ],
    [numbered, ['map', [[12, ['uuid', uuid]]]], { 12: uuid }],
    [reference, ['uuid', uuid], uuid],
  ];
  for (const [type, wire, value] of cases) assert.deepEqual(decoderOf(type)(wire), value);
});

test('equal maps have equal JSON, and __proto__ is an ordinary key', () => {
  const a = decoderOf(map)([
    'map',
    [
      ['b', '1'],
      ['__proto__', 'x'],
      ['a', '2'],
    ],
  ]);
  const b = decoderOf(map)([
    'map',
    [
      ['a', '2'],
      ['b', '1'],
      ['__proto__', 'x'],
    ],
  ]);
  assert.equal(JSON.stringify(a), '{"__proto__":"x","a":"2","b":"1"}');
  assert.equal(JSON.stringify(a), JSON.stringify(b));
  assert.ok(sameValue(a, b));
  assert.ok(!sameValue(a, { a: '2', b: '1', c: 'x' }));
});

test('decoding refuses what the schema does not allow', () => {
  const cases: readonly [ColumnSchema, unknown][] = [
    [scalar, 1],
    [optional, 'a'],
    [set, ['set', 1]],
    [map, ['set', []]],
    [map, ['map', ['a']]],
    [reference, 'a'],
    [reference, ['named-uuid', 'a']],
  ];
  for (const [type, wire] of cases)
    assert.throws(() => decoderOf(type)(wire), OvsdbProtocolError, JSON.stringify(wire));
});

test('a value is encoded by the type of its column', () => {
  const cases: readonly [ColumnSchema | undefined, WriteValue, unknown][] = [
    [scalar, uuid, uuid],
    [reference, uuid, ['uuid', uuid]],
    [reference, { named: 'row1' }, ['named-uuid', 'row1']],
    [map, { named: 'row1' }, ['map', [['named', 'row1']]]],
    [map, ['a'], ['set', ['a']]],
    [numbered, { 12: { named: 'x' } }, ['map', [[12, ['named-uuid', 'x']]]]],
    [numbered, ['12'], ['set', [12]]],
    [optional, null, ['set', []]],
    [set, 5, 5],
    [set, [], ['set', []]],
    [undefined, 'a', 'a'],
  ];
  for (const [type, value, wire] of cases) assert.deepEqual(encodeValue(value, 'c', type), wire);
  assert.deepEqual(encodeValue(uuid, '_uuid', undefined), ['uuid', uuid]);
});

test('columns that an update leaves out have their defaults', () => {
  assert.deepEqual([scalar, optional, set, map].map(defaultOf), ['', null, [], {}]);
  assert.deepEqual(defaultOf(column({ key: 'boolean', min: 1, max: 2 })), [false]);
});
