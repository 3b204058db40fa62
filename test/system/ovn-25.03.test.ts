/**
 * OVN 25.03 compared with the release from which the tables are generated: its schemas must have the same tables and columns, and
 * its server must accept Isthmus's writes. These are short tests; `make test-25.03` runs all tests with 25.03.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type BaseType, type ColumnSchema, type DatabaseSchema, openOvsdb, parseSchema } from 'ovsdb-client';
import { hasTree, installation, schemaFile, type SchemaName, startOvsdbServer } from 'ovsdb-client/testing';
import * as icNorthbound from '../../lib/ovn/generated/ic-northbound.ts';
import * as icSouthbound from '../../lib/ovn/generated/ic-southbound.ts';
import * as northbound from '../../lib/ovn/generated/northbound.ts';
import * as openVswitch from '../../lib/ovn/generated/open-vswitch.ts';
import * as southbound from '../../lib/ovn/generated/southbound.ts';
import type { ColumnShape, TableShapes } from '../../lib/ovn/table-shapes.ts';

const version = '25.03';
const skip = hasTree(version) ? false : `no OVN ${version} here: \`make ovn-${version}\``;
const modules: Readonly<Record<SchemaName, { readonly tables: TableShapes; readonly version: string }>> = {
  'ovn-nb': northbound,
  'ovn-sb': southbound,
  'ovn-ic-nb': icNorthbound,
  'ovn-ic-sb': icSouthbound,
  vswitch: openVswitch,
};

function read(name: SchemaName, ovn: string): DatabaseSchema {
  return parseSchema(JSON.parse(readFileSync(schemaFile(name, installation(ovn)), 'utf8')));
}

function shapeOf({ kind, key, value }: ColumnSchema): ColumnShape {
  const target = value?.refTable === undefined ? key : value;
  return {
    kind,
    key: key.type,
    ...(value === undefined ? {} : { value: value.type }),
    ...(target.refTable === undefined ? {} : { refTable: target.refTable }),
    ...(target.refType === undefined ? {} : { refType: target.refType }),
  };
}

/** Whether every value that `older` allows is allowed by `newer`. */
function isWider(newer: BaseType | undefined, older: BaseType | undefined): boolean {
  if (newer === undefined || older === undefined) return newer === older;
  const hasEnum = newer.enum === undefined || (older.enum ?? []).every((atom) => newer.enum?.includes(atom));
  const isAbove = (newer.minimum ?? -Infinity) <= (older.minimum ?? -Infinity);
  return hasEnum && isAbove && (newer.maximum ?? Infinity) >= (older.maximum ?? Infinity);
}

for (const [name, module] of Object.entries(modules) as [SchemaName, (typeof modules)[SchemaName]][]) {
  test(`the ${name} schema has every generated table and column in the same shape`, { skip }, () => {
    const schema = read(name, version);
    for (const [table, { isRoot, columns }] of Object.entries(module.tables)) {
      assert.equal(schema.tables[table]?.isRoot, isRoot, table);
      for (const [column, shape] of Object.entries(columns)) {
        const found: ColumnSchema | undefined = schema.tables[table].columns[column];
        assert.ok(found !== undefined, `${table}.${column} is missing`);
        assert.deepEqual(shapeOf(found), shape, `${table}.${column}`);
      }
    }
  });

  test(`the ${name} schema has no column that accepts fewer values than this machine's own release`, { skip }, (t) => {
    const [newer, older] = [read(name, version), read(name, '')];
    if (older.version !== module.version) return t.skip(`this machine's own is not ${module.version}`);
    for (const [table, { columns, indexes }] of Object.entries(older.tables)) {
      assert.deepEqual(newer.tables[table]?.indexes, indexes, `indexes of ${table}`);
      for (const [column, type] of Object.entries(columns)) {
        const found: ColumnSchema | undefined = newer.tables[table].columns[column];
        const isTaken =
          isWider(found?.key, type.key) &&
          isWider(found?.value, type.value) &&
          (found?.min ?? Infinity) <= type.min &&
          (found?.max ?? 0) >= type.max;
        assert.ok(isTaken, `${table}.${column}`);
      }
    }
  });
}

test('the database server of OVN 25.03 accepts writes of the client', { skip }, async (t) => {
  const from = installation(version);
  const server = await startOvsdbServer({ schema: schemaFile('ovn-nb', from), from });
  t.after(() => server.stop());
  assert.match(await server.control(['version']), /^ovsdb-server \(Open vSwitch\) 3\.5\./);
  const client = await openOvsdb({
    remotes: [server.remote],
    database: 'OVN_Northbound',
    monitor: { Logical_Switch: undefined, ACL: undefined },
  });
  t.after(() => client.close());
  assert.ok(client.schema.tables['DHCP_Relay'] !== undefined, 'the schema is the newer one');
  await client.transact([
    {
      op: 'insert',
      table: 'ACL',
      uuidName: 'acl',
      row: { match: 'ip4', action: 'drop', direction: 'to-lport', priority: 1000 },
    },
    { op: 'insert', table: 'Logical_Switch', row: { name: 's', acls: [{ named: 'acl' }] } },
  ]);
  const [acl] = [...client.cache.table('ACL').rows.values()];
  assert.equal(acl?.['tier'], 0, 'a column that only the newer schema has');
});
