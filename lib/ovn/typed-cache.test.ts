import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOvsdb } from 'ovsdb-client';
import { startOvsdbServer } from 'ovsdb-client/testing';
import { sources } from './generate.ts';
import { ownerIdOf } from './owner.ts';
import { northbound } from './typed-cache.ts';

test('rows have the types of their table', async (t) => {
  const server = await startOvsdbServer({ schema: sources.northbound });
  t.after(() => server.stop());
  const client = await openOvsdb({
    remotes: [server.remote],
    database: 'OVN_Northbound',
    monitor: { Logical_Switch: undefined },
    indexes: { Logical_Switch: [['name']] },
  });
  t.after(() => client.close());
  await client.transact([
    {
      op: 'insert',
      table: 'Logical_Switch',
      row: {
        name: 'a',
        other_config: { subnet: '10.0.0.0/24' },
        external_ids: { 'isthmus-owner': 'controller/subnet/a' },
      },
    },
  ]);
  const [row] = northbound(client.cache)('Logical_Switch').byIndex(['name'], ['a']);
  assert.ok(row !== undefined);
  const subnet: string | undefined = row.other_config['subnet'];
  const ports: readonly string[] = row.ports;
  assert.deepEqual([subnet, ports, ownerIdOf(row)], ['10.0.0.0/24', [], 'controller/subnet/a']);
});
