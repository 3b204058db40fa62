import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOvsdb } from 'ovsdb-client';
import type { Operation, OvsdbClient } from 'ovsdb-client';
import { pino } from 'pino';
import { schemaFile, startOvsdbServer } from '../../lib/ovsdb/src/testing.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { parseNode } from '../watch/workloads.ts';
import { Southbound, type SouthboundOptions } from './southbound.ts';

const open = (remote: string): Promise<OvsdbClient> =>
  openOvsdb({ remotes: [remote], database: 'OVN_Southbound', monitor: { Chassis: undefined } });

async function insertChassis(client: OvsdbClient, name: string): Promise<void> {
  await client.transact([
    { op: 'insert', table: 'Encap', uuidName: 'encap', row: { type: 'geneve', ip: '10.9.0.1', chassis_name: name } },
    { op: 'insert', table: 'Chassis', row: { name, hostname: 'n1', encaps: [{ named: 'encap' }] } },
  ]);
}

const metadata = { name: 'n1', uid: 'u', resourceVersion: '1', annotations: { 'ovn.kubernetes.io/chassis': 'c1' } };
const view = { nodes: new Map([['n1', parseNode({ metadata })]]) };

/** A part that reports to nobody but `listeners`. */
function southboundOf(remote: string, listeners: Partial<SouthboundOptions>): Southbound {
  const ignore = (): undefined => undefined;
  return new Southbound({
    databases: { at: () => ({ remotes: [remote] }), remotes: () => [remote] },
    view,
    log: pino({ level: 'silent' }),
    hasShortKeys: false,
    onChassis: ignore,
    onHolders: ignore,
    onUnreachable: ignore,
    onMonitors: ignore,
    onTunnels: ignore,
    onRefused: ignore,
    ...listeners,
  });
}

test('a database that refuses writes is reported once, and the chassis are still read from it', async () => {
  const active = await startOvsdbServer({ schema: schemaFile('ovn-sb') });
  // A server that follows another one takes no writes of its own.
  const follower = await startOvsdbServer({
    schema: schemaFile('ovn-sb'),
    arguments: [`--sync-from=${active.remote}`],
  });
  const client = await open(active.remote);
  await insertChassis(client, 'c1');
  let refusals = 0;
  const known: string[][] = [];
  const southbound = southboundOf(follower.remote, {
    onChassis: (names) => known.push([...names]),
    onRefused: () => (refusals += 1),
  });
  void southbound.open();
  await southbound.settled();
  southbound.start();
  await eventually('the chassis is reported', () => known.at(-1)?.includes('c1') === true);
  await eventually('the refusal is reported', () => refusals === 1);
  southbound.request();
  await sleep(100);
  assert.equal(refusals, 1);
  assert.deepEqual([...client.cache.table('Chassis').rows.values()][0]?.['external_ids'], {});
  await southbound.close();
  await client.close();
  await Promise.all([follower.stop(), active.stop()]);
});

test('all states of health checks are reported first, then changes', async () => {
  const server = await startOvsdbServer({ schema: schemaFile('ovn-sb') });
  const client = await openOvsdb({ remotes: [server.remote], database: 'OVN_Southbound', monitor: {} });
  const row = { ip: '10.16.0.2', protocol: 'tcp', port: 80, logical_port: 'a.default', src_mac: '', src_ip: '' };
  await client.transact([{ op: 'insert', table: 'Service_Monitor', row: { ...row, status: 'online' } }]);
  const reported: [string, string | undefined][][] = [];
  const tunnels: [string, string][][] = [];
  const southbound = southboundOf(server.remote, {
    onTunnels: (types) => tunnels.push([...types]),
    onMonitors: (states) => reported.push([...states]),
  });
  void southbound.open();
  await southbound.settled();
  const key = 'a.default tcp 10.16.0.2:80';
  assert.deepEqual(reported, [[[key, 'online']]]);
  await client.transact([{ op: 'update', table: 'Service_Monitor', where: [], row: { status: 'offline' } }]);
  await eventually('the new state', () => reported.length === 2);
  await insertChassis(client, 'c1');
  await client.transact([{ op: 'delete', table: 'Service_Monitor', where: [] }]);
  await eventually('the end of the check', () => reported.length === 3);
  assert.deepEqual(tunnels, [[], [['n1', 'geneve']]]);
  assert.deepEqual(reported.slice(1), [[[key, 'offline']], [[key, undefined]]]);
  await southbound.close();
  await client.close();
  await server.stop();
});

test('ports whose keys VXLAN does not carry are reported, and again when one is gone', async () => {
  const server = await startOvsdbServer({ schema: schemaFile('ovn-sb') });
  const client = await openOvsdb({ remotes: [server.remote], database: 'OVN_Southbound', monitor: {} });
  const port = (name: string, key: number): Operation => ({
    op: 'insert',
    table: 'Port_Binding',
    row: { logical_port: name, datapath: { named: 'net' }, tunnel_key: key, type: '' },
  });
  await client.transact([
    { op: 'insert', table: 'Datapath_Binding', uuidName: 'net', row: { tunnel_key: 1 } },
    port('a.default', 2047),
    port('b.default', 2048),
    port('c.default', 30_000),
  ]);
  const reported: string[][] = [];
  const southbound = southboundOf(server.remote, {
    hasShortKeys: true,
    onUnreachable: (ports) => reported.push([...ports]),
  });
  void southbound.open();
  await southbound.settled();
  assert.deepEqual(reported, [['b.default', 'c.default']]);
  await client.transact([{ op: 'delete', table: 'Port_Binding', where: [['logical_port', '==', 'b.default']] }]);
  await eventually('the other port only', () => reported.length === 2);
  assert.deepEqual(reported[1], ['c.default']);
  await southbound.close();
  await client.close();
  await server.stop();
});
