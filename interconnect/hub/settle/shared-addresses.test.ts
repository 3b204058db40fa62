import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { formatIp, type Family, type Ip } from '../../../lib/net/ip.ts';
import { growthOf } from '../../../lib/testing-growth.ts';
import { pick, randomOf, type Random } from '../../../lib/testing-random.ts';
import { SharedAddresses, type ClaimId, type MemberClaim, type Owner } from './shared-addresses.ts';

const key = 'shop/web';

function claimOf(fields: Partial<MemberClaim> = {}): MemberClaim {
  return {
    pool: 'world',
    ranges: ['198.51.100.0/29'],
    clusters: [],
    requested: [],
    held: [],
    sinceMs: 0,
    families: [4],
    createdMs: 100,
    refused: undefined,
    ...fields,
  };
}

describe('the addresses that Services have in all clusters', () => {
  let shared: SharedAddresses;
  let nowMs: number;
  /** Addresses of pods, by cluster. */
  let owned: ReadonlyMap<string, string>;
  let asked: number;
  const ownerOf = (ip: Ip): Owner | undefined => {
    asked += 1;
    const name = owned.get(formatIp(ip));
    return name === undefined ? undefined : { name, last: ip.value };
  };
  const set = (member: string, service: string, claim: MemberClaim | undefined): boolean =>
    shared.set({ member, key: service }, claim);
  const settle = (expected: readonly string[] = []): readonly ClaimId[] => shared.settle({ expected, nowMs, ownerOf });
  const addresses = (member: string, service = key): string =>
    shared.answerTo({ member, key: service })?.addresses.join() ?? 'none';
  const code = (member: string, service = key): string => shared.answerTo({ member, key: service })?.code ?? 'none';

  beforeEach(() => {
    shared = new SharedAddresses();
    nowMs = 1000;
    owned = new Map();
    asked = 0;
  });

  it('are one for a Service, whichever clusters export it, and others for other Services', () => {
    for (const service of [key, 'shop/db', 'lab/web'])
      for (const member of ['east', 'west']) set(member, service, claimOf());
    settle();
    const all = [key, 'shop/db', 'lab/web'].map((service) => addresses('east', service));
    assert.deepEqual(
      [key, 'shop/db', 'lab/web'].map((service) => addresses('west', service)),
      all,
    );
    assert.equal(new Set(all).size, 3);
    assert.deepEqual(shared.answerTo({ member: 'east', key }), {
      service: key,
      addresses: [all[0]],
      sinceMs: 1000,
      clusters: ['west'],
      code: '',
      message: '',
    });
    assert.deepEqual([set('east', key, claimOf()), settle()], [false, []], 'nothing changed');
  });

  it('stay when the cluster that had the first leaves, and when all but one have', () => {
    set('east', key, claimOf({ createdMs: 1 }));
    settle();
    const address = addresses('east');
    set('west', key, claimOf({ createdMs: 2 }));
    settle();
    set('east', key, undefined);
    nowMs = 2000;
    settle();
    assert.deepEqual([addresses('west'), shared.answerTo({ member: 'west', key })?.sinceMs], [address, 1000]);
    set('west', key, undefined);
    settle();
    assert.deepEqual([addresses('west'), shared.size], ['none', 0]);
  });

  it('are read from the claims after a start, and none is made before all members are known', () => {
    set('east', key, claimOf({ held: ['198.51.100.3'], sinceMs: 500 }));
    set('east', 'shop/new', claimOf());
    settle(['west']);
    assert.deepEqual([addresses('east'), code('east', 'shop/new')], ['none', 'MembersExpected']);
    set('west', 'shop/db', claimOf({ held: ['198.51.100.4'], sinceMs: 400 }));
    settle();
    assert.deepEqual([addresses('east'), addresses('west', 'shop/db')], ['198.51.100.3', '198.51.100.4']);
    assert.equal(code('east', 'shop/new'), '');
    assert.notEqual(addresses('east', 'shop/new'), '198.51.100.4');
  });

  it('that contradict each other after a start: the older agreement counts, in any order of the members', () => {
    for (const order of [
      ['east', 'west'],
      ['west', 'east'],
    ]) {
      shared = new SharedAddresses();
      const claims: Record<string, MemberClaim> = {
        east: claimOf({ held: ['198.51.100.1'], sinceMs: 700 }),
        west: claimOf({ held: ['198.51.100.2'], sinceMs: 600 }),
      };
      const unknown = new Set(order);
      for (const member of order) {
        set(member, key, claims[member]);
        unknown.delete(member);
        settle([...unknown]);
      }
      assert.deepEqual([addresses('east'), addresses('west')], ['198.51.100.2', '198.51.100.2'], order.join());
    }
  });

  it('are not taken over by a member that says it had them first', () => {
    set('east', key, claimOf());
    settle();
    const address = addresses('east');
    set('evil', 'mine/web', claimOf({ held: [address], sinceMs: 1 }));
    set('evil', key, claimOf({ held: ['198.51.100.7'], sinceMs: 1 }));
    settle();
    assert.deepEqual([addresses('east'), addresses('evil')], [address, address]);
    assert.notEqual(addresses('evil', 'mine/web'), address);
  });

  it('follow the request of the oldest export, and what another Service has is refused by name', () => {
    set('east', key, claimOf({ createdMs: 1, requested: ['198.51.100.6'] }));
    set('west', key, claimOf({ createdMs: 2, requested: ['198.51.100.7'] }));
    set('west', 'shop/db', claimOf({ createdMs: 3, requested: ['198.51.100.6'] }));
    set('west', 'shop/out', claimOf({ requested: ['203.0.113.1'] }));
    settle();
    assert.deepEqual([addresses('east'), addresses('west')], ['198.51.100.6', '198.51.100.6']);
    assert.deepEqual([code('west', 'shop/db'), code('west', 'shop/out')], ['AddressInUse', 'AddressNotInPool']);
    assert.match(shared.answerTo({ member: 'west', key: 'shop/db' })?.message ?? '', /address of Service shop\/web/);
    set('east', key, undefined);
    set('west', key, undefined);
    settle();
    assert.equal(addresses('west', 'shop/db'), '198.51.100.6');
  });

  it('are withheld from a cluster whose pool differs, is not shared with it, or is not allowed to it', () => {
    set('east', key, claimOf({ createdMs: 1, clusters: ['east', 'west', 'north'] }));
    set('west', key, claimOf({ ranges: ['203.0.113.0/29'] }));
    set('south', key, claimOf());
    set('north', key, claimOf({ clusters: ['north'] }));
    const refused = { code: 'PrefixNotAllowed', message: 'no' };
    set('evil', key, claimOf({ createdMs: 0, held: ['198.51.100.1'], refused }));
    settle();
    const codes = ['east', 'west', 'south', 'north', 'evil'].map((member) => code(member));
    assert.deepEqual(codes, ['', 'PoolDiffers', 'PoolNotShared', 'PoolNotShared', 'PrefixNotAllowed']);
    const given = ['west', 'south', 'north', 'evil'].map((member) => addresses(member));
    assert.deepEqual(given, ['', '', '', '']);
    assert.deepEqual(shared.answerTo({ member: 'east', key })?.clusters, []);
    set('west', key, claimOf());
    settle();
    assert.equal(addresses('west'), addresses('east'));
  });

  it('are not taken away by a member that joins with a pool that is shared with nobody', () => {
    set('east', key, claimOf({ createdMs: 5 }));
    set('west', key, claimOf({ createdMs: 6 }));
    settle();
    const address = addresses('east');
    set('evil', key, claimOf({ createdMs: 1, clusters: ['evil'], held: [address], sinceMs: 1 }));
    settle();
    assert.deepEqual([addresses('east'), addresses('west'), code('evil')], [address, address, 'PoolNotShared']);
    set('evil', key, claimOf({ createdMs: 1 }));
    settle();
    assert.equal(addresses('evil'), address);
    set('evil', key, claimOf({ createdMs: 1, clusters: ['evil'], held: [address], sinceMs: 1 }));
    settle();
    assert.deepEqual([addresses('east'), addresses('west')], [address, address], 'who has it keeps it');
    const held = { held: [address], sinceMs: 1000 };
    shared = new SharedAddresses();
    set('east', key, claimOf({ createdMs: 5, ...held }));
    set('west', key, claimOf({ createdMs: 6, clusters: ['west'], ...held }));
    settle();
    assert.deepEqual([addresses('east'), addresses('west')], [address, address], 'after a start too');
  });

  it('are looked for once in a pool of pods, not once for each address or Service', () => {
    const pods = { name: '10.0.0.0/8 of cluster west', last: (10n << 24n) + (1n << 24n) - 1n };
    const owner = (): Owner => {
      asked += 1;
      return pods;
    };
    for (let at = 0; at < 500; at += 1) set('evil', `shop/s${at}`, claimOf({ ranges: ['10.0.0.0/9'], createdMs: at }));
    shared.settle({ expected: [], nowMs, ownerOf: owner });
    assert.deepEqual([code('evil', 'shop/s0'), code('evil', 'shop/s499')], ['AddressInUse', 'AddressInUse']);
    assert.ok(asked <= 3, `${asked}`);
    set('east', key, claimOf({ ranges: ['9.255.255.254', '10.0.0.0/9'] }));
    shared.settle({ expected: [], nowMs, ownerOf: (ip) => (ip.value >> 24n === 10n ? pods : undefined) });
    assert.equal(addresses('east'), '9.255.255.254');
  });

  it('run out, and the oldest Service that waits gets the next one', () => {
    const small = { ranges: ['198.51.100.0/31'] };
    for (const [at, service] of ['a/a', 'a/b', 'a/c', 'a/d'].entries())
      set('east', service, claimOf({ ...small, createdMs: at }));
    settle();
    assert.deepEqual(
      [code('east', 'a/b'), code('east', 'a/c'), code('east', 'a/d')],
      ['', 'NoFreeAddress', 'NoFreeAddress'],
    );
    const free = addresses('east', 'a/a');
    set('east', 'a/a', undefined);
    settle();
    assert.deepEqual([addresses('east', 'a/c'), code('east', 'a/d')], [free, 'NoFreeAddress']);
  });

  it('are no addresses of pods of a cluster, except those agreed on before', () => {
    set('east', key, claimOf({ ranges: ['198.51.100.0/31'] }));
    settle();
    const first = addresses('east');
    const other = first.endsWith('0') ? '198.51.100.1' : '198.51.100.0';
    owned = new Map([first, other].map((address) => [address, '198.51.100.0/24 of cluster west']));
    set('east', 'shop/db', claimOf({ ranges: ['198.51.100.0/31'] }));
    set('east', 'shop/asks', claimOf({ requested: [other] }));
    settle();
    assert.deepEqual(
      [addresses('east'), code('east', 'shop/db'), code('east', 'shop/asks')],
      [first, 'AddressInUse', 'AddressInUse'],
    );
    assert.match(
      shared.answerTo({ member: 'east', key: 'shop/db' })?.message ?? '',
      /within 198\.51\.100\.0\/24 of cluster west/,
    );
  });

  it('are of both families, as far as the pool has them', () => {
    const both: readonly Family[] = [4, 6];
    set('east', key, claimOf({ families: both, ranges: ['198.51.100.0/29', '2001:db8:5::/64'] }));
    set('west', key, claimOf({ families: [6], ranges: ['2001:db8:5::/64'] }));
    set('east', 'shop/four', claimOf({ families: both }));
    set('east', 'shop/six', claimOf({ families: [6] }));
    settle();
    assert.match(addresses('east'), /^198\.51\.100\.\d,2001:db8:5:/);
    assert.equal(addresses('west'), addresses('east').split(',')[1]);
    assert.deepEqual([code('east', 'shop/four'), code('east', 'shop/six')], ['', 'NoPoolOfFamily']);
    assert.match(addresses('east', 'shop/four'), /^198\.51\.100\.\d$/);
  });
});

describe('in a thousand random orders', () => {
  const members = ['east', 'west', 'north'];
  const services = ['a/a', 'a/b', 'b/a', 'b/b', 'c/c'];
  const ranges = [['198.51.100.0/30'], ['198.51.100.0/29', '2001:db8::/126'], ['198.51.100.0-198.51.100.5']];

  function randomClaim(random: Random, held: readonly string[], sinceMs: number): MemberClaim {
    return claimOf({
      ranges: [...pick(random, ranges), ...held],
      clusters: pick(random, [[], [], ['east', 'west'], members]),
      requested: pick(random, [[], [], ['198.51.100.1']]),
      families: pick(random, [[4], [4], [4, 6]]),
      createdMs: random(3),
      held,
      sinceMs,
    });
  }

  /** No address belongs to two Services, and each cluster has the same for one. */
  function check(shared: SharedAddresses): void {
    const holders = new Map<string, string>();
    for (const key of services) {
      const byFamily = new Map<boolean, string>();
      for (const member of members)
        for (const address of shared.answerTo({ member, key })?.addresses ?? []) {
          assert.equal(holders.get(address) ?? key, key, address);
          holders.set(address, key);
          const isSix = address.includes(':');
          assert.equal(byFamily.get(isSix) ?? address, address, key);
          byFamily.set(isSix, address);
        }
    }
  }

  it('no two Services have one address, clusters agree, and a hub that starts again decides the same', () => {
    const random = randomOf(7);
    let shared = new SharedAddresses();
    const claims = new Map<string, { id: ClaimId; claim: MemberClaim }>();
    for (let round = 0; round < 1000; round += 1) {
      const id = { member: pick(random, members), key: pick(random, services) };
      const name = `${id.member} ${id.key}`;
      const answer = shared.answerTo(id);
      if (random(4) === 0) claims.delete(name);
      else claims.set(name, { id, claim: randomClaim(random, answer?.addresses ?? [], answer?.sinceMs ?? 0) });
      shared.set(id, claims.get(name)?.claim);
      shared.settle({ expected: [], nowMs: 10_000 + round, ownerOf: () => undefined });
      check(shared);
      if (random(20) > 0) continue;
      // Each member has written the answers that it got, and sends them to another hub, in any order.
      for (const [one, { id: of, claim }] of claims) {
        const { addresses: held = [], sinceMs = 0 } = shared.answerTo(of) ?? {};
        const kept = claim.ranges.concat(held.filter((address) => !claim.ranges.includes(address)));
        claims.set(one, { id: of, claim: { ...claim, held, sinceMs, ranges: kept } });
        shared.set(of, claims.get(one)?.claim);
      }
      shared.settle({ expected: [], nowMs: 10_000 + round, ownerOf: () => undefined });
      const next = new SharedAddresses();
      const unknown = new Set(members);
      for (const member of members.toSorted(() => random(3) - 1)) {
        for (const { id: of, claim } of claims.values()) if (of.member === member) next.set(of, claim);
        unknown.delete(member);
        next.settle({ expected: [...unknown], nowMs: 50_000, ownerOf: () => undefined });
      }
      for (const { id: of } of claims.values())
        assert.deepEqual(next.answerTo(of)?.addresses, shared.answerTo(of)?.addresses, `${of.member} ${of.key}`);
      shared = next;
    }
  });
});

it('the cost of a claim does not grow with the number of Services', async (context) => {
  const [few, many] = [10, 4000];
  const facts = { expected: [], nowMs: 1, ownerOf: () => undefined };
  const of = (count: number): SharedAddresses => {
    const shared = new SharedAddresses();
    for (let at = 0; at < count; at += 1)
      for (const member of ['east', 'west', 'north'])
        shared.set({ member, key: `shop/s${at}` }, claimOf({ ranges: ['198.18.0.0/16'] }));
    shared.settle(facts);
    return shared;
  };
  let createdMs = 1000;
  const edit = (shared: SharedAddresses) => () => {
    for (let times = 0; times < 200; times += 1) {
      createdMs += 1;
      const key = `shop/s${times % few}`;
      shared.set({ member: 'east', key }, claimOf({ ranges: ['198.18.0.0/16'], createdMs }));
      shared.settle(facts);
    }
  };
  const growth = await growthOf({ small: edit(of(few)), large: edit(of(many)) });
  context.diagnostic(`a claim among ${many} takes ${growth.toFixed(2)} times one among ${few}`);
  assert.ok(growth < 5, `${growth} times`);
});
