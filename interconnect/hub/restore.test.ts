import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HeldPort } from '../model/messages.ts';
import { attachment, bedTimes, HubBed } from './hub-bed.ts';
import { usualLimits } from './model/store.ts';

const allTables = ['Route', 'Port_Binding', 'Gateway', 'Availability_Zone', 'Datapath_Binding'];

describe('recovery of a hub that lost data', () => {
  let bed: HubBed;
  beforeEach(async () => {
    bed = new HubBed();
    await bed.up();
  });
  afterEach(() => bed.down());
  const blue = (rest: object = {}) => attachment(['10.60.0.0/16'], { transitSwitch: 'blue', ...rest });
  const joinEast = async (held: readonly HeldPort[] = [], blueHeld: readonly HeldPort[] = []) => {
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16'], { held }), blue({ held: blueHeld })], 'a1', '172.30.0.11');
    return east;
  };
  const joinWest = async () => {
    const west = await bed.member('west');
    await west.sendAttachments([attachment(['10.17.0.0/16'])], 'b1', '172.30.0.21');
    return west;
  };
  const ports = () =>
    bed
      .rows('Port_Binding')
      .map((row) => [row['logical_port'], row['address'], row['tunnel_key']].join(' '))
      .sort();
  const datapaths = () =>
    bed
      .rows('Datapath_Binding')
      .map((row) => [row['transit_switch'], row['tunnel_key']].join(' '))
      .sort();

  it('writes identical rows to databases that were wiped while it runs', async () => {
    const west = await joinWest();
    const east = await joinEast();
    const before = [ports(), datapaths(), bed.column('Transit_Switch', 'name'), bed.column('Route', 'ip_prefix')];
    const updates = [east.updates, west.updates];
    await bed.southbound.transact(allTables.map((table) => ({ op: 'delete', table, where: [] })));
    await bed.clients[0]?.transact([{ op: 'delete', table: 'Transit_Switch', where: [] }]);
    await bed.until(() => bed.rows('Port_Binding').length === 6 && bed.rows('Route').length === 6);
    await bed.until(() => bed.rows('Transit_Switch').length === 4 && bed.rows('Datapath_Binding').length === 4);
    assert.deepEqual(
      [ports(), datapaths(), bed.column('Transit_Switch', 'name'), bed.column('Route', 'ip_prefix')],
      before,
    );
    assert.deepEqual([east.updates, west.updates], updates, 'members got no update');
  });

  it('starts with wiped databases and the ports of the registry, whichever member connects first', async () => {
    await joinWest();
    await joinEast();
    const before = [ports(), datapaths()];
    await bed.stop();
    await bed.startDatabases();
    await bed.start();
    const east = await joinEast();
    assert.deepEqual(east.last?.expected, ['west']);
    const third = await bed.member('third');
    await third.sendAttachments([attachment([])], 'c1', '172.30.0.31');
    assert.deepEqual(third.held()[0]?.networks, ['100.100.0.3/27'], 'what west had is kept for it');
    await third.leave();
    await joinWest();
    await east.until(() => east.last?.expected.length === 0);
    assert.deepEqual([ports(), datapaths()], before);
  });

  it('restores ports missing from the registry from the members’ states', async () => {
    await joinWest();
    const first = await joinEast();
    const [held, blueHeld] = [first.held(), first.held('blue')];
    const before = ports().filter((port) => port.includes('-east'));
    const network = first.last?.transitSwitches.find(({ name }) => name === 'blue')?.cidrs;
    await bed.stop();
    await bed.startDatabases();
    for (const cluster of ['east', 'west']) bed.store.edit(cluster, { ports: [] });
    await bed.start();
    const east = await joinEast(held, blueHeld);
    assert.deepEqual(
      ports().filter((port) => port.includes('-east')),
      before,
    );
    assert.deepEqual(east.last?.transitSwitches.find(({ name }) => name === 'blue')?.cidrs, network);
  });

  it('grants a new member nothing that an expected member may still hold', async () => {
    const west = await joinWest();
    const held = west.held();
    await bed.stop();
    await bed.startDatabases();
    bed.store.edit('west', { ports: [] });
    await bed.start();
    const third = await bed.member('third');
    await third.sendAttachments([attachment([])], 'c1', '172.30.0.31');
    assert.deepEqual(
      third.held().map(({ networks, tunnelKey }) => [networks[0], tunnelKey]),
      [
        ['100.100.0.30/27', 32_767],
        ['100.100.0.62/27', 32_767],
      ],
    );
    const again = await bed.member('west');
    await again.sendAttachments([attachment(['10.17.0.0/16'], { held })], 'b1', '172.30.0.21');
    assert.deepEqual(again.held(), held);
  });

  it('restores no claimed port that another member has, or that is not of the path', async () => {
    const west = await joinWest();
    const [theirs] = west.held();
    const wrong = { switch: 'ts1', mac: '0a:58:00:00:00:01', networks: ['100.100.0.5/27'], tunnelKey: 9 };
    const east = await joinEast([theirs ?? wrong, wrong]);
    assert.deepEqual(
      east.held().map(({ networks, tunnelKey }) => [networks[0], tunnelKey]),
      [
        ['100.100.0.2/27', 2],
        ['100.100.0.34/27', 2],
      ],
    );
  });

  it('deletes the rows of members that the registry does not know', async () => {
    await joinWest();
    await joinEast();
    await bed.stop();
    bed.store.delete('east');
    await bed.start();
    await bed.until(() => bed.rows('Availability_Zone').length === 1);
    assert.deepEqual([...new Set(bed.column('Route', 'ip_prefix'))], ['10.17.0.0/16']);
    assert.equal(bed.rows('Gateway').length, 1);
    await bed.until(() => bed.rows('Transit_Switch').length === 2);
    assert.deepEqual(bed.column('Transit_Switch', 'name'), ['ts', 'ts1'], 'no member is on blue any more');
    const west = await bed.member('west');
    await west.until(() => west.last !== undefined);
    assert.deepEqual([...west.members.keys(), ...(west.last?.expected ?? [])], []);
  });

  it('recognises members that were restored from a backup without their status', async () => {
    await joinWest();
    await joinEast();
    const before = [ports(), datapaths()];
    await bed.stop();
    for (const cluster of ['east', 'west']) bed.store.edit(cluster, { membership: undefined, ports: [] });
    await bed.start();
    assert.deepEqual([...bed.registry.members()].map(({ cluster }) => cluster).sort(), ['east', 'west']);
    const east = await joinEast();
    assert.equal(east.ended, undefined);
    assert.deepEqual([ports(), datapaths()], before);
  });

  it('recognises a member whose object and token are restored while the hub runs', async () => {
    const east = await joinEast();
    const before = ports();
    const tokens = [...(await bed.store.tokens()).values()];
    bed.store.delete('east');
    await east.until(() => east.ended !== undefined);
    while (![...(await bed.store.tokens()).values()].every(({ spent }) => spent)) await sleep(10);
    await bed.store.create('east', { ...usualLimits, allowedPrefixes: [], maxPrefixes: 10 });
    const stranger = await bed.member('other');
    await stranger.leave();
    assert.equal(bed.registry.member('east'), undefined, 'an object alone makes no cluster a member');
    bed.store.delete('east');
    await bed.store.setTokens(tokens);
    await bed.store.create('east', { ...usualLimits, allowedPrefixes: [], maxPrefixes: 10 });
    await bed.until(() => bed.registry.member('east') !== undefined);
    await joinEast();
    assert.deepEqual(ports(), before);
  });

  it('gives up a long absent member only once no member reaches it, and accepts its return', async () => {
    await bed.restart({ times: { ...bedTimes, graceMs: 20, staleAfterMs: 200 } });
    const west = await joinWest();
    const before = ports();
    const east = await joinEast();
    west.close();
    await east.until(() => east.members.get('west')?.connected === false);
    await sleep(400);
    assert.ok(east.members.has('west'), 'east still reaches it');
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11', ['west']);
    await east.until(() => !east.members.has('west'));
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['east']);
    assert.deepEqual(east.last?.expected, []);
    assert.ok(bed.registry.member('west'), 'it is a member still');
    await bed.restart();
    const again = await joinEast();
    assert.deepEqual(again.last?.expected, [], 'also for a hub that starts again');
    await joinWest();
    assert.deepEqual(
      ports().filter((port) => port.includes('-west')),
      before,
      'with the ports it had',
    );
    await again.until(() => again.members.get('west')?.connected === true);
  });

  it('gives up no member while all are absent or a returned member reaches them: the hub may be cut off', async () => {
    await bed.restart({ times: { ...bedTimes, graceMs: 20, staleAfterMs: 100 } });
    const [west, east] = [await joinWest(), await joinEast()];
    west.close();
    east.close();
    await bed.until(() => bed.hub.sessions === 0);
    await sleep(400);
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['east', 'west']);
    const again = await joinEast();
    await again.until(() => again.members.has('west'));
    await sleep(400);
    assert.ok(again.members.has('west'));
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['east', 'west']);
  });

  it('gives up an expected member that no member has seen', async () => {
    await joinWest();
    await joinEast();
    await bed.stop();
    await bed.startDatabases();
    await bed.start({ times: { ...bedTimes, staleAfterMs: 200 } });
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    assert.deepEqual(east.last?.expected, ['west']);
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11', ['west']);
    await east.until(() => east.last?.expected.length === 0);
  });
});
