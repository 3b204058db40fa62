import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createKey } from '../../lib/pki/certificate.ts';
import type { HubUpdate, Prefix } from '../model/messages.ts';
import type { HubRefused, HubUnreachable } from '../link/protocol.ts';
import { attachment, bedTimes, HubBed, prefix, type TestMember } from './hub-bed.ts';
import { usualLimits } from './model/store.ts';

const refusal = (code: string, message = /./) => {
  return (error: HubRefused | HubUnreachable): boolean => {
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
};

describe('a member that is renamed', () => {
  let bed: HubBed;
  beforeEach(async () => {
    bed = new HubBed();
    await bed.up();
  });
  afterEach(() => bed.down());

  const joinNorth = async (name = 'north', prefixes: readonly (string | Prefix)[] = ['10.16.0.0/16']) => {
    const north = await bed.member(name);
    const attachments = [attachment(prefixes), attachment(['10.60.0.0/16'], { transitSwitch: 'blue' })];
    assert.deepEqual(await north.sendAttachments(attachments, 'a1', '172.30.0.11'), []);
    return north;
  };
  const joinSouth = async (prefixes: readonly (string | Prefix)[] = ['10.17.0.0/16'], rest = {}) => {
    const south = await bed.member('south');
    assert.deepEqual(await south.sendAttachments([attachment(prefixes, rest)], 'b1', '172.30.0.21'), []);
    return south;
  };
  /** The rows of IC-SB that a rename may not touch. */
  const rows = () =>
    ['Port_Binding', 'Route', 'Gateway', 'Encap', 'Datapath_Binding'].map((table) => [
      table,
      bed.column(table, '_uuid'),
      ...(table === 'Port_Binding' ? ['logical_port', 'address', 'tunnel_key'] : []).map((one) =>
        bed.column(table, one),
      ),
    ]);
  const seen = (member: TestMember, name: string) => {
    const { ports, routes } = member.members.get(name) ?? {};
    return { ports, hops: routes?.map((route) => [route.prefix, route.nextHops]) };
  };

  it('keeps its ports, rows and session; the other members get a single update', async () => {
    const [north, south] = [await joinNorth(), await joinSouth()];
    await south.until(() => south.members.has('north'));
    const before = { rows: rows(), seen: seen(south, 'north'), updates: north.updates };
    const received: HubUpdate[] = [];
    const updates = south.updates;
    const old = bed.identity('north');
    await bed.rename('north', 'nord', ['a1', 'a2']);
    await south.until(() => south.members.has('nord'));
    received.push(south.last as HubUpdate);
    assert.equal(south.updates, updates + 1);
    assert.deepEqual([received[0]?.removed, received[0]?.members.map(({ name }) => name)], [['north'], ['nord']]);
    assert.deepEqual(seen(south, 'nord'), before.seen);
    assert.deepEqual(south.members.get('nord')?.routes[0]?.via, ['nord']);
    assert.deepEqual(rows(), before.rows);
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['nord', 'south']);
    assert.equal(north.ended, undefined, 'its session goes on');
    await north.until(() => north.last?.transitSwitches[0]?.definedBy === 'nord');
    assert.deepEqual(await north.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11'), []);
    await south.until(() => south.members.get('nord')?.routes[0]?.prefix === '10.16.0.0/17');
    north.close();
    const late = bed.session(old);
    await late.until(() => late.ended !== undefined).catch(() => undefined);
    assert.equal(late.ended?.code, 'NotAMember', 'the certificate of the former name is over');
    await south.until(() => south.members.get('nord')?.connected === false);
    const again = await bed.member('nord');
    await again.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11');
    assert.equal(
      again.last?.transitSwitches.find(({ name }) => name === 'ts')?.paths[0]?.port?.logicalPort,
      'ts-north',
    );
    assert.deepEqual(
      [...bed.store.members()].map(({ handle, cluster }) => [handle, cluster]),
      [
        ['north', 'nord'],
        ['south', 'south'],
      ],
    );
    const tokens = [...(await bed.store.tokens()).values()].filter(({ spent }) => !spent);
    assert.deepEqual(
      new Map(tokens.map(({ cluster, handle }) => [cluster, handle])),
      new Map([
        ['nord', 'north'],
        ['south', undefined],
      ]),
    );
  });

  it('gets its identity again when the answer was lost, and leaves by its key', async () => {
    const north = await joinNorth();
    const { key } = bed.identity('north');
    const token = bed.token('nord');
    await bed.redeem(token, key);
    await bed.redeem(token, key);
    await assert.rejects(bed.redeem(token, await createKey()), refusal('TokenRedeemed'));
    await assert.rejects(bed.redeem(bed.token('nord'), await createKey()), refusal('ClusterNameTaken'));
    await north.leave();
    await bed.until(() => bed.rows('Availability_Zone').length === 0);
    for (const table of ['Port_Binding', 'Route', 'Gateway', 'Encap']) assert.equal(bed.rows(table).length, 0, table);
    assert.deepEqual([...bed.store.members()], []);
    const other = bed.session(await bed.redeem(bed.token('north'), await createKey()));
    assert.deepEqual(
      await other.sendAttachments([attachment([])], 'c1', '172.30.0.31'),
      [],
      'its names are free again',
    );
  });

  it('keeps its holdings when it is renamed back and again, also after a restart', async () => {
    await joinNorth();
    const south = await joinSouth();
    await south.until(() => south.members.has('north'));
    const before = { rows: rows(), seen: seen(south, 'north') };
    for (const [from, to] of [
      ['north', 'nord'],
      ['nord', 'norden'],
      ['norden', 'north'],
      ['north', 'nord'],
    ] as const) {
      await bed.rename(from, to);
      await south.until(() => south.members.has(to) && !south.members.has(from));
      assert.deepEqual([rows(), seen(south, to)], [before.rows, before.seen], to);
    }
    await bed.restart();
    const again = await joinNorth('nord');
    assert.deepEqual(again.last?.rejections, []);
    assert.deepEqual(rows(), before.rows);
    assert.equal(bed.transactions, 0, 'a hub that starts again writes nothing');
  });

  it('has the new name although the hub ended before its databases contained the name', async () => {
    await joinNorth();
    const south = await joinSouth();
    await south.until(() => south.members.has('north'));
    const before = rows();
    await bed.stop();
    const membership = [...bed.store.members()].find(({ handle }) => handle === 'north')?.membership;
    assert.ok(membership);
    await bed.store.setMembership('north', {
      ...membership,
      cluster: 'nord',
      formerName: 'north',
      token: 'f'.repeat(16),
    });
    await bed.start();
    await bed.until(() => bed.column('Availability_Zone', 'name').join() === 'nord,south');
    assert.deepEqual(rows(), before);
    const again = await joinSouth();
    assert.deepEqual([...again.members.keys()], ['nord']);
    assert.deepEqual(again.last?.expected, []);
    const blue = bed.rows('Transit_Switch').find((row) => row['name'] === 'blue');
    assert.match(JSON.stringify(blue?.['external_ids']), /"isthmus-defined-by":"nord"/);
  });

  it('gets its ports again after the databases were wiped, and when its object was restored without status', async () => {
    await joinNorth();
    await bed.rename('north', 'nord');
    const ports = bed.column('Port_Binding', 'address');
    await bed.stop();
    await bed.startDatabases();
    await bed.start();
    await joinNorth('nord');
    assert.deepEqual(bed.column('Port_Binding', 'address'), ports);
    await bed.stop();
    bed.store.edit('north', { cluster: 'north', membership: undefined, ports: [] });
    await bed.start();
    assert.deepEqual(
      [...bed.registry.members()].map(({ cluster }) => cluster),
      ['nord'],
    );
    await joinNorth('nord');
    assert.deepEqual(bed.column('Port_Binding', 'address'), ports);
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['nord']);
  });

  it('is removed with every row when its object is deleted', async () => {
    const north = await joinNorth();
    await bed.rename('north', 'nord');
    bed.store.delete('north');
    await north.until(() => north.ended !== undefined).catch(() => undefined);
    assert.equal(north.ended?.code, 'NotAMember');
    await bed.until(() => bed.rows('Availability_Zone').length === 0);
    assert.equal(bed.rows('Port_Binding').length, 0);
  });

  it('does not get a name that another member has, had, or is expected under', async () => {
    await joinNorth();
    await joinSouth();
    const { key } = bed.identity('north');
    await assert.rejects(bed.redeem(bed.token('south'), key), refusal('ClusterNameTaken', /another cluster has/));
    await assert.rejects(bed.redeem(bed.token('south', { replace: true }), key), refusal('ClusterNameTaken'));
    await bed.store.create('west', { ...usualLimits, allowedPrefixes: [], maxPrefixes: 1 });
    await assert.rejects(bed.redeem(bed.token('west'), key), refusal('ClusterNameTaken', /HubMember west waits/));
    await bed.rename('north', 'nord');
    const stranger = bed.redeem(bed.token('north'), await createKey());
    await assert.rejects(stranger, refusal('ClusterNameTaken', /nord was called north when it joined/));
  });

  it('is not ended by an object that a user creates under its present name, and the object’s status says so', async () => {
    const north = await joinNorth();
    await bed.rename('north', 'nord');
    await bed.store.create('nord', { ...usualLimits, allowedPrefixes: [], maxPrefixes: 1 });
    const assertReported = () => {
      const { code, message } = bed.store.refused.get('nord') ?? {};
      assert.equal(code, 'NameTaken');
      assert.match(message ?? '', /the cluster of HubMember north is now called nord, so this object .* delete it/);
      bed.store.refused.clear();
    };
    assertReported();
    assert.deepEqual(await north.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11'), []);
    assert.deepEqual([bed.registry.handle('nord'), bed.registry.spec('nord').maxPrefixes], ['north', 10_000]);
    await bed.restart();
    assertReported();
    await joinNorth('nord');
    await bed.stop();
    bed.store.edit('north', { cluster: 'north', membership: undefined, ports: [] });
    await bed.start();
    assertReported();
    const again = await joinNorth('nord');
    assert.equal(bed.registry.handle('nord'), 'north');
    bed.store.delete('nord');
    assert.deepEqual(await again.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11'), []);
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['nord']);
  });

  it('is not mistaken for a copy of the cluster, which would take its place', async () => {
    const north = await joinNorth();
    const { key } = bed.identity('north');
    const copy = bed.redeem(bed.token('nord'), key, ['z1', 'z2']);
    await assert.rejects(copy, refusal('DuplicateIdentity', /if this cluster is a copy of north/));
    assert.ok(bed.registry.member('north'));
    assert.deepEqual(await north.sendAttachments([attachment([])], 'a1', '172.30.0.11'), []);
  });

  it('waits until members that list it by name list the new name', async () => {
    await joinNorth();
    const listed = async (names: readonly string[], only: readonly string[]) => {
      const green = attachment([prefix('10.70.0.0/16', { only })], {
        transitSwitch: 'green',
        clusters: ['south', ...names],
      });
      const south = await bed.member('south');
      await south.sendAttachments([attachment([]), green], 'b1', '172.30.0.21');
      south.close();
      await bed.until(() => bed.hub.sessions === 1);
    };
    const { key } = bed.identity('north');
    const token = bed.token('nord');
    await listed(['north'], []);
    await assert.rejects(
      bed.redeem(token, key),
      refusal('FormerNameListed', /switch green, which south defined, lists/),
    );
    await listed(['north', 'nord'], ['north']);
    await assert.rejects(bed.redeem(token, key), refusal('FormerNameListed', /policy of south, for 10\.70\.0\.0\/16,/));
    await listed(['north', 'nord'], ['north', 'nord']);
    await bed.redeem(token, key);
    assert.ok(bed.registry.member('nord'));
  });

  it('keeps its name while the API server of the hub does not answer', async () => {
    const north = await joinNorth();
    const { key } = bed.identity('north');
    const token = bed.token('nord');
    bed.store.isAway = true;
    await assert.rejects(bed.redeem(token, key), refusal('HubUnreachable'));
    assert.equal(north.ended, undefined);
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['north']);
    bed.store.isAway = false;
    await bed.redeem(token, key);
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['nord']);
  });

  it('is not taken for a zone of its own when one with its former name appears', async () => {
    const [north, south] = [await joinNorth(), await joinSouth()];
    await bed.rename('north', 'nord');
    await bed.southbound.transact([{ op: 'insert', table: 'Availability_Zone', row: { name: 'north' } }]);
    await bed.foreignZone('far', { octet: 9, route: '10.20.0.0/16', address: '100.100.0.9' });
    await south.until(() => south.members.has('far'));
    assert.deepEqual([...south.members.keys()].sort(), ['far', 'nord']);
    assert.deepEqual(await north.sendAttachments([attachment([])], 'a1', '172.30.0.11'), []);
  });

  it('is absent after the rename if it was absent before, until its session returns', async () => {
    await bed.restart({ times: { ...bedTimes, graceMs: 50 } });
    const [north, south] = [await joinNorth(), await joinSouth()];
    await south.until(() => south.members.has('north'));
    north.close();
    await south.until(() => south.members.get('north')?.connected === false);
    await bed.rename('north', 'nord');
    await south.until(() => south.members.has('nord'));
    assert.equal(south.members.get('nord')?.connected, false);
    await joinNorth('nord');
    await south.until(() => south.members.get('nord')?.connected === true);
  });
});
