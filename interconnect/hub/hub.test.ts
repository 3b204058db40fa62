import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey } from '../../lib/pki/certificate.ts';
import type { HubRefused, HubUnreachable } from '../link/protocol.ts';
import { attachment, bedTimes, HubBed, prefix, type TestMember } from './hub-bed.ts';
import { usualLimits } from './model/store.ts';

const isRefused = (code: string) => (error: HubRefused | HubUnreachable) => {
  assert.equal(error.code, code);
  return true;
};

/** Why the session ended. */
const codeOf = (member: TestMember): string | undefined => member.ended?.code;

describe('members of the hub', () => {
  const bed = new HubBed();
  before(() => bed.up());
  after(() => bed.down());

  it('tells each member which connected members report that no path reaches it', async () => {
    const [near, far] = [await bed.member('near'), await bed.member('far')];
    await near.sendAttachments([attachment(['10.70.0.0/16'])], 'n1', '172.30.0.71');
    const says = (unreachable: readonly string[]) =>
      far.sendAttachments([attachment(['10.71.0.0/16'])], 'f1', '172.30.0.72', unreachable);
    await says(['near', 'nobody']);
    await near.until(() => near.last?.unreachedBy.join() === 'far');
    assert.deepEqual(far.last?.unreachedBy, []);
    await says([]);
    await near.until(() => near.last?.unreachedBy.length === 0);
    await says(['near']);
    await near.until(() => near.last?.unreachedBy.join() === 'far');
    far.close();
    await near.until(() => near.last?.unreachedBy.length === 0);
    await near.leave();
    await (await bed.member('far')).leave();
  });

  it('gives each member a port on each path and publishes the port to the others', async () => {
    const [east, west] = [await bed.member('east'), await bed.member('west')];
    assert.deepEqual(await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11'), []);
    assert.deepEqual(await west.sendAttachments([attachment(['10.17.0.0/16'])], 'b1', '172.30.0.21'), []);
    await east.until(() => east.members.get('west')?.routes.length === 1);
    assert.deepEqual(east.members.get('west')?.routes, [
      {
        transitSwitch: 'ts',
        prefix: '10.17.0.0/16',
        origin: 'connected',
        tags: [],
        via: ['west'],
        nextHops: [
          { switch: 'ts', address: '100.100.0.2' },
          { switch: 'ts1', address: '100.100.0.34' },
        ],
      },
    ]);
    assert.deepEqual(
      east.members.get('west')?.ports.map((port) => [port.logicalPort, port.networks[0], port.gateways, port.holder]),
      [
        ['ts-west', '100.100.0.2/27', ['b1'], 'b1'],
        ['ts1-west', '100.100.0.34/27', ['b1'], 'b1'],
      ],
    );
    const [ts] = east.last?.transitSwitches ?? [];
    assert.deepEqual(ts?.cidrs, ['100.100.0.0/24']);
    assert.deepEqual(
      ts.paths.map((path) => [path.switch, path.cidrs, path.tunnelKey, path.retiring, path.port?.networks]),
      [
        ['ts', ['100.100.0.0/27'], 16_711_681, false, ['100.100.0.1/27']],
        ['ts1', ['100.100.0.32/27'], 16_711_682, false, ['100.100.0.33/27']],
      ],
    );
    assert.deepEqual(bed.column('Port_Binding', 'address'), [
      '0a:58:64:64:00:01 100.100.0.1/27',
      '0a:58:64:64:00:02 100.100.0.2/27',
      '0a:58:64:64:00:21 100.100.0.33/27',
      '0a:58:64:64:00:22 100.100.0.34/27',
    ]);
    assert.deepEqual(bed.column('Datapath_Binding', 'tunnel_key'), ['16711681', '16711682']);
    assert.deepEqual(bed.column('Transit_Switch', 'name'), ['ts', 'ts1']);
    assert.deepEqual(bed.column('Gateway', 'name'), ['a1', 'b1']);
    assert.equal(bed.rows('Route').length, 4, 'a route per path');
    west.close();
    await east.until(() => east.members.get('west')?.connected === false);
    assert.ok((east.members.get('west')?.lastSeenMs ?? 0) > Date.now() - 10_000);
    assert.equal(bed.rows('Route').length, 4, 'rows outlive the session');
    east.close();
  });

  it('refuses a prefix that another member holds, names the holder, and grants the prefix once it is released', async () => {
    const [east, west] = [await bed.member('east'), await bed.member('west')];
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    const wished = ['10.16.128.0/17', '10.17.0.0/16', '100.100.0.0/30', 'fd00::/64', 'x'];
    const rejections = await west.sendAttachments([attachment(wished)], 'b1', '172.30.0.11');
    assert.deepEqual(
      rejections.map((one) => [one.kind, one.value, one.code, one.holder, one.transitSwitch]),
      [
        ['gateway', 'b1', 'DuplicateEncap', 'east', ''],
        ['prefix', '10.16.128.0/17', 'PrefixOverlap', 'east', 'ts'],
        ['prefix', '100.100.0.0/30', 'PrefixOverlap', '', 'ts'],
        ['prefix', 'fd00::/64', 'FamilyUnsupported', '', 'ts'],
        ['prefix', 'x', 'PrefixInvalid', '', 'ts'],
      ],
    );
    assert.deepEqual([...new Set(bed.column('Route', 'ip_prefix'))], ['10.16.0.0/16', '10.17.0.0/16']);
    assert.deepEqual(bed.column('Gateway', 'name'), ['a1'], 'a gateway that clashes is not written');
    const duplicate = await west.sendAttachments([attachment(['10.17.0.0/16'])], 'a1', '172.30.0.21');
    assert.deepEqual(
      duplicate.map(({ code, holder }) => [code, holder]),
      [['DuplicateChassis', 'east']],
    );
    await west.sendAttachments([attachment(['10.16.128.0/17'])], 'b1', '172.30.0.21');
    await east.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11');
    await west.until(() => west.last?.rejections.length === 0);
    assert.deepEqual([...new Set(bed.column('Route', 'ip_prefix'))], ['10.16.0.0/17', '10.16.128.0/17']);
    east.close();
    west.close();
  });

  it('writes nothing when the hub restarts and its members reconnect', async () => {
    const attachments = [
      attachment([
        prefix('10.16.0.0/17', { origin: 'bgp', tags: ['a', 'b'], via: ['lab'] }),
        prefix('10.99.0.0/16', { only: ['west'] }),
      ]),
    ];
    const east = await bed.member('east');
    await east.sendAttachments(attachments, 'a1', '172.30.0.11');
    const tables = ['Port_Binding', 'Route', 'Gateway', 'Encap', 'Availability_Zone', 'Transit_Switch'];
    const uuids = () => JSON.stringify(tables.map((table) => bed.column(table, '_uuid')));
    const before = uuids();
    // Long enough for the member to have its session before the hub gives up the others.
    await bed.restart({ times: { ...bedTimes, startGraceMs: 3000 } });
    const again = await bed.member('east');
    await again.until(() => again.last !== undefined);
    assert.equal(again.members.get('west')?.connected, true, 'a member is known from its rows');
    assert.deepEqual(await again.sendAttachments(attachments, 'a1', '172.30.0.11'), []);
    await again.until(() => again.members.get('west')?.connected === false);
    assert.equal(bed.transactions, 0);
    assert.equal(uuids(), before);
    assert.deepEqual(again.last?.expected, []);
  });

  it('sends a prefix only to the members it is offered to, and sends the others no update when it changes', async () => {
    const [east, west, third] = [await bed.member('east'), await bed.member('west'), await bed.member('third')];
    await west.sendAttachments([attachment([])], 'b1', '172.30.0.21');
    await third.sendAttachments([attachment([])], 'c1', '172.30.0.31');
    const routes = (cidrs: readonly ReturnType<typeof prefix>[]) =>
      east.sendAttachments([attachment(cidrs)], 'a1', '172.30.0.11');
    await routes([
      prefix('10.16.0.0/17'),
      prefix('10.98.0.0/16', { only: ['west'] }),
      prefix('10.99.0.0/16', { except: ['west'] }),
    ]);
    await west.until(() => west.members.get('east')?.routes.some((route) => route.prefix === '10.98.0.0/16') === true);
    await third.until(
      () => third.members.get('east')?.routes.some((route) => route.prefix === '10.99.0.0/16') === true,
    );
    const seen = (member: typeof west) => member.members.get('east')?.routes.map((route) => route.prefix);
    assert.deepEqual(seen(west), ['10.16.0.0/17', '10.98.0.0/16']);
    assert.deepEqual(seen(third), ['10.16.0.0/17', '10.99.0.0/16']);
    assert.deepEqual(
      [...new Set(bed.column('Route', 'ip_prefix'))],
      ['10.16.0.0/17'],
      'plain ovn-ic sees what all see',
    );
    const updates = third.updates;
    await routes([prefix('10.16.0.0/17'), prefix('10.99.0.0/16', { except: ['west'] })]);
    await west.until(() => seen(west)?.length === 1);
    assert.equal(third.updates, updates);
    await third.leave();
    for (const member of [east, west, third]) member.close();
  });

  it('enforces the limits of a member, also changed ones, whether or not the member is connected', async () => {
    const fourth = await bed.member('fourth', { allow: ['10.40.0.0/16'] });
    const attachments = [attachment(['10.40.1.0/24', '10.40.2.0/24', '10.41.0.0/24'])];
    const rejections = await fourth.sendAttachments(attachments, 'd1', '172.30.0.41');
    assert.deepEqual(
      rejections.map(({ value, code }) => [value, code]),
      [['10.41.0.0/24', 'PrefixNotAllowed']],
    );
    bed.store.edit('fourth', { spec: { ...usualLimits, allowedPrefixes: [], maxPrefixes: 2 } });
    await fourth.until(() => fourth.last?.rejections[0]?.code === 'MaxPrefixes');
    const offered = () => bed.column('Route', 'ip_prefix').filter((cidr) => cidr.startsWith('10.4'));
    assert.deepEqual([...new Set(offered())], ['10.40.1.0/24', '10.40.2.0/24'], 'it keeps what it had');
    fourth.close();
    await bed.until(() => bed.hub.sessions === 0);
    bed.store.edit('fourth', { spec: { ...usualLimits, allowedPrefixes: ['10.40.1.0/24'], maxPrefixes: 2 } });
    await bed.until(() => offered().length === 2);
    assert.deepEqual([...new Set(offered())], ['10.40.1.0/24']);
  });

  it('ends a membership whose HubMember is deleted', async () => {
    const key = await createKey();
    const text = bed.token('fifth');
    const identity = await bed.redeem(text, key);
    const fifth = bed.session(identity);
    await fifth.sendAttachments([attachment(['10.50.0.0/16'])], 'e1', '172.30.0.51');
    bed.store.delete('fifth');
    await fifth.until(() => fifth.ended !== undefined);
    assert.equal(codeOf(fifth), 'NotAMember');
    await bed.until(() => !bed.column('Availability_Zone', 'name').includes('fifth'));
    assert.ok(!bed.column('Port_Binding', 'logical_port').some((name) => name.endsWith('-fifth')));
    await bed.until(() => bed.registry.member('fifth') === undefined);
    await assert.rejects(bed.redeem(text, key), isRefused('TokenSpent'));
  });

  it('keeps a new membership when the deletion of the former HubMember is observed late', async () => {
    const uid = () => [...bed.store.members()].find(({ handle }) => handle === 'fifth')?.uid ?? '';
    const first = await bed.member('fifth');
    const before = uid();
    await first.leave();
    await first.until(() => first.ended !== undefined).catch(() => undefined);
    const second = await bed.member('fifth');
    assert.notEqual(uid(), before);
    bed.store.lateDelete('fifth', before);
    assert.ok(bed.registry.member('fifth'));
    assert.deepEqual(await second.sendAttachments([attachment([])], 'e1', '172.30.0.51'), []);
    await second.leave();
  });

  it('redeems a token once: again for the same key, never for another', async () => {
    const [key, other] = [await createKey(), await createKey()];
    const text = bed.token('south');
    await bed.redeem(text, key);
    const old = bed.session(await bed.redeem(text, key));
    await assert.rejects(bed.redeem(text, other), isRefused('TokenRedeemed'));
    await assert.rejects(bed.redeem(bed.token('south'), other), isRefused('ClusterNameTaken'));
    await assert.rejects(bed.redeem(bed.token('north', { ttlMs: -1 }), other), isRefused('TokenExpired'));
    await old.until(() => old.last !== undefined);
    await bed.redeem(bed.token('south', { replace: true }), other);
    await old.until(() => old.ended !== undefined);
    assert.equal(codeOf(old), 'NotAMember', 'the replaced key has no session any more');
    await assert.rejects(bed.redeem(text, key), isRefused('TokenSpent'));
    await old.leave();
    assert.ok(bed.registry.member('south'), 'the key that was replaced takes nothing away by leaving');
    const late = bed.session(await bed.redeem(bed.token('gone'), key));
    await late.leave();
    await late.until(() => late.ended !== undefined);
    assert.equal(codeOf(late), 'NotAMember');
  });

  it('accepts an agent that took over for its cluster, but not an agent of a copy of the cluster', async () => {
    const attachments = [attachment(['10.16.0.0/17'])];
    const east = await bed.member('east');
    await east.sendAttachments(attachments, 'a1', '172.30.0.11');
    const copy = await bed.member('east');
    await copy.until(() => copy.last !== undefined);
    await copy.sendAttachments(attachments, 'other', '172.30.0.99').catch(() => undefined);
    assert.equal(codeOf(copy), 'DuplicateIdentity');
    assert.match(copy.ended?.message ?? '', /with gateways a1;/);
    assert.equal(codeOf(east), undefined);
    assert.deepEqual(await east.sendAttachments([attachment(['10.16.0.0/18'])], 'a1', '172.30.0.11'), []);
    const heir = await bed.member('east');
    await heir.sendAttachments(attachments, 'a1', '172.30.0.11');
    await east.until(() => east.ended !== undefined);
    assert.equal(codeOf(east), 'SessionReplaced');
    // Any waiting agent takes over when the first is gone.
    const next = await bed.member('east');
    await next.until(() => next.last !== undefined);
    heir.close();
    await bed.until(() => bed.hub.sessions === 1);
    await next.sendAttachments(attachments, 'a1', '172.30.0.11');
    next.close();
  });

  it('refuses joins and leaves while its API server does not answer, and serves sessions meanwhile', async () => {
    const east = await bed.member('east');
    bed.store.isAway = true;
    await assert.rejects(bed.redeem(bed.token('sixth'), await createKey()), (error: HubUnreachable) => {
      assert.equal(error.code, 'HubUnreachable');
      assert.match(error.message, /the hub cannot admit a member now: the API server cannot be reached/);
      return true;
    });
    await assert.rejects(east.leave(), isRefused('HubUnreachable'));
    assert.deepEqual(await east.sendAttachments([attachment(['10.16.0.0/18'])], 'a1', '172.30.0.11'), []);
    bed.store.isAway = false;
    assert.deepEqual(await east.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11'), []);
    await (await bed.member('sixth')).leave();
    east.close();
  });

  it('does not change rows of zones with their own ovn-ic, publishes them, and reserves their names and prefixes', async () => {
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11');
    await bed.foreignZone('openstack', { octet: 9, route: '10.20.0.1/16', address: '100.100.0.9' });
    const rejections = await east.sendAttachments([attachment(['10.16.0.0/17', '10.20.1.0/24'])], 'a1', '172.30.0.11');
    assert.deepEqual(
      rejections.map(({ code, holder }) => [code, holder]),
      [['PrefixOverlap', 'openstack']],
    );
    await east.until(() => east.members.has('openstack'));
    assert.deepEqual(east.members.get('openstack')?.routes, [
      {
        transitSwitch: 'ts',
        prefix: '10.20.0.0/16',
        origin: 'connected',
        tags: [],
        via: ['openstack'],
        nextHops: [{ switch: 'ts', address: '100.100.0.9' }],
      },
    ]);
    assert.equal(east.members.get('openstack')?.foreign, true);
    assert.deepEqual(east.members.get('openstack')?.ports[0]?.gateways, ['gw-openstack']);
    await assert.rejects(bed.redeem(bed.token('openstack'), await createKey()), isRefused('ClusterNameTaken'));
    // It comes later with a prefix that a member has: the member keeps it, and the others, shown both, refuse the later.
    await bed.foreignZone('late', { octet: 10, route: '10.16.1.0/24', address: '100.100.0.10' });
    await east.until(() => east.members.has('late'));
    assert.deepEqual(
      east.members.get('late')?.routes.map(({ prefix }) => prefix),
      ['10.16.1.0/24'],
    );
    assert.deepEqual(await east.sendAttachments([attachment(['10.16.0.0/17'])], 'a1', '172.30.0.11'), []);
    const third = await bed.member('third');
    await third.sendAttachments([attachment(['10.30.0.0/16'])], 'c1', '172.30.0.31');
    const taken = bed.rows('Port_Binding').filter((row) => row['transit_switch'] === 'ts');
    assert.equal(new Set(taken.map((row) => row['tunnel_key'])).size, taken.length);
    assert.equal(new Set(taken.map((row) => row['address'])).size, taken.length);
    for (const member of [east, third]) member.close();
  });

  it('removes every row of a member that leaves, and no other', async () => {
    const [east, third] = [await bed.member('east'), await bed.member('third')];
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    await east.until(() => east.members.has('third'));
    await third.leave();
    await east.until(() => !east.members.has('third'));
    await third.leave().catch((error: HubRefused) => assert.fail(`leaving twice: ${error.message}`));
    for (const name of ['west', 'fourth', 'south']) if (bed.registry.member(name) !== undefined) bed.store.delete(name);
    await east.leave();
    await bed.until(() => bed.rows('Availability_Zone').length === 2);
    for (const table of ['Availability_Zone', 'Gateway', 'Encap', 'Port_Binding', 'Route'])
      assert.equal(bed.rows(table).length, 2, `${table} of the foreign zones`);
    assert.equal(bed.registry.member('east'), undefined);
  });
});
