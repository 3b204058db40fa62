import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { OvsdbClient } from 'ovsdb-client';
import { schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { forgetGateway, openLocalOvs } from '../ovs/local.ts';
import { TunnelLiveness } from '../settle/tunnel-liveness.ts';
import { TunnelWatch } from './tunnels.ts';

interface NewTunnel {
  readonly name: string;
  readonly id: string;
  readonly remoteIp: string;
  readonly bfd?: Readonly<Record<string, string>>;
}

let server: TestServer;
let ovs: OvsdbClient;

/** Makes the rows that ovn-controller makes. */
async function addTunnel({ name, id, remoteIp, bfd = {} }: NewTunnel): Promise<void> {
  await ovs.transact([
    {
      op: 'insert',
      table: 'Interface',
      uuidName: 'i',
      row: { name, type: 'geneve', options: { remote_ip: remoteIp, key: 'flow' }, bfd },
    },
    {
      op: 'insert',
      table: 'Port',
      uuidName: 'p',
      row: { name, interfaces: [{ named: 'i' }], external_ids: { 'ovn-chassis-id': id } },
    },
    {
      op: 'mutate',
      table: 'Bridge',
      where: [['name', '==', 'br-int']],
      mutations: [['ports', 'insert', [{ named: 'p' }]]],
    },
  ]);
}

/** Writes the columns that ovs-vswitchd writes. */
async function setBfd(name: string, status: Readonly<Record<string, string>>): Promise<void> {
  await ovs.transact([
    { op: 'update', table: 'Interface', where: [['name', '==', name]], row: { bfd_status: status } },
  ]);
}

class Programs {
  isDown = false;
  readonly #listeners: (() => void)[] = [];

  subscribe(listener: () => void): void {
    this.#listeners.push(listener);
  }

  turn(isDown: boolean): void {
    this.isDown = isDown;
    for (const listener of this.#listeners) listener();
  }
}

function watchTunnels(programs: Programs, trustMs?: number): { watch: TunnelWatch; calls: () => number } {
  const watch = new TunnelWatch({
    liveness: new TunnelLiveness(),
    ovs,
    programs,
    isSwitchDown: () => programs.isDown,
    ...(trustMs === undefined ? {} : { trustMs }),
  });
  let calls = 0;
  watch.subscribe(() => calls++);
  return { watch, calls: () => calls };
}

describe('tunnels of the local Open vSwitch', () => {
  before(async () => {
    server = await startOvsdbServer({ schema: schemaFile('vswitch') });
    ovs = await openLocalOvs(server.remote, new AbortController().signal);
  });
  after(async () => {
    await ovs.close();
    await server.stop();
  });
  beforeEach(async () => {
    await ovs.transact([
      { op: 'delete', table: 'Open_vSwitch', where: [] },
      { op: 'insert', table: 'Bridge', uuidName: 'b', row: { name: 'br-int' } },
      { op: 'insert', table: 'Open_vSwitch', row: { bridges: [{ named: 'b' }], external_ids: { 'system-id': 'a1' } } },
    ]);
    await addTunnel({
      name: 'ovn-b1-0',
      id: 'b1@172.30.2.11',
      remoteIp: '172.30.2.11',
      bfd: { enable: 'true', min_rx: '100' },
    });
  });

  test('the chassis by both forms of its id, addresses of both families, BFD as it is; ports of pods are none', async () => {
    await addTunnel({ name: 'ovn-b2-0', id: 'b2@x@fd00::12%fd00::1', remoteIp: 'fd00::12' });
    await addTunnel({ name: 'vx0', id: '', remoteIp: '10.0.0.1' });
    await setBfd('ovn-b1-0', { state: 'up', flap_count: '1' });
    const { watch } = watchTunnels(new Programs());
    const plain = { isBfdWanted: false, bfd: {}, isStale: false };
    assert.deepEqual(
      watch.tunnels.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      [
        {
          name: 'ovn-b1-0',
          chassis: 'b1',
          address: '172.30.2.11',
          isBfdWanted: true,
          bfd: { state: 'up', flap_count: '1' },
          isStale: false,
        },
        { name: 'ovn-b2-0', chassis: 'b2@x', address: 'fd00::12', ...plain },
      ],
    );
    watch.close();
  });

  test('a change is reported with the update that contains it; a change of a pod’s port is not', async () => {
    const { watch, calls } = watchTunnels(new Programs());
    const states: unknown[] = [];
    watch.subscribe(() => states.push(watch.tunnels[0]?.bfd['state']));
    await setBfd('ovn-b1-0', { state: 'init' });
    await setBfd('ovn-b1-0', { state: 'up' });
    assert.deepEqual(states, ['init', 'up']);
    const row = { name: 'pod_h', type: '' };
    await ovs.transact([
      { op: 'insert', table: 'Interface', uuidName: 'i', row },
      { op: 'insert', table: 'Port', uuidName: 'p', row: { name: 'pod_h', interfaces: [{ named: 'i' }] } },
      { op: 'mutate', table: 'Bridge', where: [], mutations: [['ports', 'insert', [{ named: 'p' }]]] },
    ]);
    assert.equal(calls(), 2);
    watch.close();
  });

  test('after ovs-vswitchd was down, its old state counts again only once a new one was written', async () => {
    await setBfd('ovn-b1-0', { state: 'up', flap_count: '1' });
    const programs = new Programs();
    const { watch, calls } = watchTunnels(programs);
    programs.turn(true);
    assert.deepEqual([watch.isSwitchDown, calls()], [true, 1]);
    programs.turn(false);
    assert.deepEqual([watch.isSwitchDown, watch.tunnels[0]?.isStale, calls()], [false, true, 2]);
    await setBfd('ovn-b1-0', { state: 'down' });
    await setBfd('ovn-b1-0', { state: 'up', flap_count: '1' });
    assert.equal(watch.tunnels[0]?.isStale, false, 'though it is the same as before');
    watch.close();
  });

  test('the states of an ovs-vswitchd that was frozen without noticing count again after a period', async () => {
    await setBfd('ovn-b1-0', { state: 'up' });
    const programs = new Programs();
    programs.isDown = true;
    const { watch, calls } = watchTunnels(programs, 30);
    programs.turn(false);
    assert.equal(watch.tunnels[0]?.isStale, true);
    await pause(60);
    assert.deepEqual([watch.tunnels[0].isStale, calls()], [false, 2]);
    watch.close();
  });

  test('a long outage of the database and its end are reported; a short one is not', async () => {
    const watch = new TunnelWatch({
      liveness: new TunnelLiveness(),
      ovs,
      programs: new Programs(),
      isSwitchDown: () => false,
      patienceMs: 3000,
    });
    const reported: boolean[] = [];
    watch.subscribe(() => reported.push(watch.isDatabaseAway));
    await server.restart();
    await ovs.synced();
    await pause(3100);
    assert.deepEqual(reported, []);
    await server.kill('SIGTERM');
    while (reported.length === 0) await pause(50);
    assert.deepEqual([reported, watch.tunnels.length], [[true], 1]);
    await server.restart();
    while (reported.length === 1) await pause(50);
    assert.deepEqual(reported, [true, false]);
    watch.close();
  });

  test("a node that is not a gateway any more loses its key, and nothing else of Open_vSwitch's", async () => {
    const ids = (): unknown => [...ovs.cache.table('Open_vSwitch').rows.values()][0]?.['external_ids'];
    const mutations = [['external_ids', 'insert', { 'ovn-is-interconn': 'true' }]] as const;
    await ovs.transact([{ op: 'mutate', table: 'Open_vSwitch', where: [], mutations }]);
    await forgetGateway(ovs);
    assert.deepEqual(ids(), { 'system-id': 'a1' });
    await forgetGateway(ovs);
    assert.deepEqual(ids(), { 'system-id': 'a1' });
  });
});
