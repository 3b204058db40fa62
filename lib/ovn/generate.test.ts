import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseSchema } from 'ovsdb-client';
import { generatedPath, readSchema, sources } from './generate.ts';
import { tables as northbound, version } from './generated/northbound.ts';
import { isSingleton, keyColumn } from './identity.ts';
import { renderTables } from './render.ts';

for (const [module, path] of Object.entries(sources)) {
  test(`generated/${module}.ts is what generate.ts makes of the schema`, (t) => {
    const schema = readSchema(path);
    const committed = readFileSync(generatedPath(module), 'utf8');
    const from = /export const version = '([^']+)'/.exec(committed)?.[1];
    if (schema === undefined || schema.version !== from) {
      t.skip(`${path} is ${schema?.version ?? 'not installed'}, the committed file was made from ${from}`);
      return;
    }
    assert.equal(committed, renderTables(schema), 'run `npm run generate`');
  });
}

test('columns of every kind', () => {
  const schema = parseSchema({
    name: 'D',
    version: '1.2.3',
    tables: {
      My_table: {
        isRoot: true,
        indexes: [['name', 'kind']],
        columns: {
          name: { type: { key: { type: 'string', maxLength: 63 } }, mutable: false },
          kind: { type: { key: { type: 'string', enum: ['set', ['a', "b'c"]] }, min: 0, max: 'unlimited' } },
          friend: { type: { key: { type: 'uuid', refTable: 'My_table', refType: 'weak' }, min: 0, max: 1 } },
          numbers: { type: { key: 'integer', value: { type: 'real', minReal: 0 }, min: 0, max: 4 } },
        },
      },
    },
  });
  const text = renderTables(schema);
  assert.ok(
    text.includes(`/** Unique: name, kind. */
export type MyTable = {
  readonly _uuid: string;
  /** weak reference to My_table */
  readonly friend: string | null;
  readonly kind: readonly ('a' | 'b\\'c')[];
  /** ..63 characters; set at insertion only */
  readonly name: string;
  /** 0..4 of them; 0.. */
  readonly numbers: Readonly<Record<string, number>>;
};
`),
    text,
  );
  assert.ok(
    text.includes(`      friend: { kind: 'optional', key: 'uuid', refTable: 'My_table', refType: 'weak' },\n`),
    text,
  );
});

test('the constants are those of the types', () => {
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.deepEqual(northbound.Logical_Switch.columns.ports, {
    kind: 'set',
    key: 'uuid',
    refTable: 'Logical_Switch_Port',
    refType: 'strong',
  });
  assert.equal(northbound.ACL.isRoot, false);
});

test('every table that is keyed by name has a name; every other table with owned rows has external_ids or is a singleton', () => {
  // Rows of these can only be owned through the row that holds them, or by all of their columns.
  const without = new Set(['Connection', 'SSL', 'Encap', 'Static_MAC_Binding', 'Chassis_Template_Var']);
  for (const path of [
    sources.northbound,
    sources['ic-northbound'],
    sources['ic-southbound'],
    sources['open-vswitch'],
  ]) {
    for (const [table, { columns }] of Object.entries(readSchema(path)?.tables ?? {})) {
      if (keyColumn(table) === 'name') assert.ok(columns['name'] !== undefined, table);
      else
        assert.ok(
          columns['external_ids'] !== undefined || isSingleton(table) || without.has(table) || table === 'AutoAttach',
          table,
        );
    }
  }
});
