import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOvsdb, type WriteValue } from 'ovsdb-client';
import { startOvsdbServer } from 'ovsdb-client/testing';
import { sources } from '../../lib/ovn/generate.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import { GatewayPorts } from './gateway-ports.ts';

const mac = '0a:00:00:00:00:01';

test('ports of routers come with their holder, addresses, bridge and tag', async (t) => {
  const server = await startOvsdbServer({ schema: sources.southbound });
  t.after(() => server.stop());
  const writer = await openOvsdb({ remotes: [server.remote], database: 'OVN_Southbound', monitor: {} });
  t.after(() => writer.close());
  let keys = 0;
  const insert = (table: string, uuidName: string, row: Readonly<Record<string, WriteValue>>) => ({
    op: 'insert' as const,
    table,
    uuidName,
    row,
  });
  const port = (name: string, type: string, datapath: string, row: Readonly<Record<string, WriteValue>> = {}) => {
    keys += 1;
    return insert('Port_Binding', `p${keys}`, {
      logical_port: name,
      type,
      datapath: { named: datapath },
      tunnel_key: keys,
      ...row,
    });
  };
  const chassis = (name: string, uuidName: string) => [
    insert('Encap', `${uuidName}e`, { type: 'geneve', ip: `192.0.2.${uuidName.slice(1)}`, chassis_name: name }),
    insert('Chassis', uuidName, { name, encaps: { named: `${uuidName}e` } }),
  ];
  const here = 'is_chassis_resident("cr-blue-external")';
  await writer.transact([
    ...chassis('chassis-n1', 'c1'),
    ...chassis('chassis-n2', 'c2'),
    insert('Datapath_Binding', 'router', { tunnel_key: 1 }),
    insert('Datapath_Binding', 'switch', { tunnel_key: 2 }),
    port('cr-blue-external', 'chassisredirect', 'router', {
      chassis: { named: 'c1' },
      mac: `${mac} 203.0.113.100/24 2001:db8:113::100/64`,
    }),
    port('external-blue', 'patch', 'switch', {
      nat_addresses: [
        `${mac} 203.0.113.101 2001:db8:113::101 203.0.113.101 nonsense ${here}`,
        `${mac} 203.0.113.100 ${here}`,
        '0a:00:00:00:00:02 203.0.113.102 is_chassis_resident("b3.default")',
        `ff:00:00:00:00:02 203.0.113.103 ${here}`,
      ],
    }),
    port('localnet.external', 'localnet', 'switch', { tag: 7 }),
    port('pod', '', 'switch', { mac: `${mac} 203.0.113.9` }),
  ]);
  let changes = 0;
  const access = {
    remotes: () => [server.remote],
    onRemotes: () => undefined,
    signal: new AbortController().signal,
    log: { info: () => undefined, warn: () => undefined } as never,
  };
  const ports = new GatewayPorts(access, () => (changes += 1));
  t.after(() => ports.close());
  assert.equal(ports.ports('chassis-n1'), undefined);
  await eventually('the ports', () => ports.ports('chassis-n1'));
  const shared = { name: 'cr-blue-external', mac, localnet: 'localnet.external', vlan: 7 };
  const translations = ['203.0.113.101', '2001:db8:113::101'].map((address) => ({ address, isRouter: false }));
  const own = ['203.0.113.100', '2001:db8:113::100'].map((address) => ({ address, isRouter: true }));
  const held = { ...shared, isHere: true, addresses: [...own, ...translations] };
  const other = { ...shared, isHere: false, addresses: [] };
  assert.deepEqual(ports.ports('chassis-n1'), [held]);
  assert.deepEqual(ports.ports('chassis-n2'), [other]);
  assert.deepEqual(ports.ports(undefined), [other]);

  const before = changes;
  const where = [['logical_port', '==', 'cr-blue-external']] as const;
  const [chosen] = await writer.transact([
    { op: 'select', table: 'Chassis', where: [['name', '==', 'chassis-n2']], columns: ['_uuid'] },
  ]);
  const uuid = chosen?.rows?.[0]?._uuid ?? '';
  await writer.transact([{ op: 'update', table: 'Port_Binding', where, row: { chassis: uuid } }]);
  await eventuallyPasses(() => assert.deepEqual(ports.ports('chassis-n2'), [held]));
  assert.ok(changes > before);
  await server.stop();
  await eventuallyPasses(() => assert.equal(ports.ports('chassis-n2'), undefined));
});
