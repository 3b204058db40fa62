import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { remotePrefixes, remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { cidrCovers, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { limits, listRoutes, type RouteLists } from './prefix-list.ts';

const paths = [
  { switch: 'ts', address: '100.100.0.2' },
  { switch: 'ts1', address: '100.100.32.2' },
];

function use(prefix: string, more: Partial<RouteUse> = {}): RouteUse {
  const hops = paths.map((hop) => ({ ...hop, isUsed: true, problem: undefined }));
  const common = { transitSwitch: 'ts', router: 'ovn-cluster', origin: 'connected', tags: [], isChosen: true };
  return { ...common, prefix, hops, rejected: undefined, ...more };
}

const many = (count: number, more: Partial<RouteUse> = {}, first = 10): readonly RouteUse[] =>
  Array.from({ length: count }, (_, at) => use(`${first + (at >> 16)}.${(at >> 8) & 255}.${at & 255}.0/24`, more));

/** As programs read it. */
const read = ({ entries }: RouteLists) => remotePrefixes(entries);

describe('the prefix lists of a RemoteCluster', () => {
  it('contain each prefix once for programs, whatever the state of its hops, and no rejected prefix', () => {
    const problem = { code: 'NextHopDown', message: 'm' };
    const backup = paths.map((hop) => ({ ...hop, isUsed: false, problem }));
    const lists = listRoutes('west', [
      use('10.1.0.0/24'),
      use('10.2.0.0/24'),
      use('10.3.0.0/24', { hops: backup }),
      use('10.4.0.0/24', { rejected: { code: 'Denied', message: 'm' } }),
    ]);
    assert.deepEqual(lists.entries, [
      { prefix: '10.1.0.0/24', transitSwitch: 'ts', state: 'Active', origin: 'connected' },
      { prefix: '10.2.0.0/24', transitSwitch: 'ts', state: 'Active', origin: 'connected' },
      { prefix: '10.3.0.0/24', transitSwitch: 'ts', state: 'Backup', origin: 'connected', reason: 'NextHopDown' },
      {
        prefix: '10.4.0.0/24',
        transitSwitch: 'ts',
        state: 'Rejected',
        origin: 'connected',
        reason: 'Denied',
        message: 'm',
      },
    ]);
    assert.equal(read(lists).listed.length, 3);
    assert.deepEqual(
      lists.sample.map(({ prefix, state }) => `${prefix} ${state}`),
      [
        '10.4.0.0/24 Rejected',
        '10.3.0.0/24 Backup',
        '10.3.0.0/24 Backup',
        '10.1.0.0/24 Active',
        '10.1.0.0/24 Active',
        '10.2.0.0/24 Active',
        '10.2.0.0/24 Active',
      ],
    );
    assert.deepEqual([lists.verdict.status, lists.verdict.reason], ['True', 'Listed']);
  });

  it('show users a sample, with all next hops of each prefix, and contain everything for programs', () => {
    const lists = listRoutes('west', many(2000));
    assert.equal(lists.sample.length, limits.sample * paths.length);
    assert.equal(read(lists).listed.length, 2000);
    assert.deepEqual(lists.unlisted, []);
    assert.deepEqual([lists.verdict.status, lists.verdict.message], ['True', 'prefixes: 2000']);
  });

  it('stay the same for programs when one of several paths is down', () => {
    const half = paths.map((hop, at) => {
      return { ...hop, isUsed: at === 0, problem: at === 0 ? undefined : { code: 'NextHopDown', message: 'm' } };
    });
    assert.deepEqual(
      listRoutes('west', [use('10.1.0.0/24', { hops: half })]).entries,
      listRoutes('west', [use('10.1.0.0/24')]).entries,
    );
  });

  it('show an invalid prefix to users only, because no slice can hold it', () => {
    const lists = listRoutes('west', [use('nonsense', { rejected: { code: 'PrefixInvalid', message: 'm' } })]);
    assert.deepEqual([lists.entries, lists.sample[0]?.prefix], [[], 'nonsense']);
  });

  it('leave out rejected prefixes first, and count them', () => {
    const denied = many(20, { rejected: { code: 'Denied', message: 'm' } }, 200);
    const lists = listRoutes('west', [...denied, ...many(limits.prefixes - 5)]);
    assert.equal(read(lists).listed.length, limits.prefixes - 5);
    assert.deepEqual(lists.unlisted, []);
    assert.equal(lists.entries.filter(({ state }) => state === 'Rejected').length, 5);
    assert.deepEqual([lists.verdict.status, lists.verdict.reason], ['True', 'RejectedCut']);
    assert.match(lists.verdict.message ?? '', /prefixes: 9995; 15 of those that are rejected are not listed/);
  });

  it('count prefixes that have no room, and contain networks that hold them', () => {
    const all = many(limits.prefixes + 5000);
    const lists = listRoutes('west', all);
    const { listed, unlisted } = read(lists);
    assert.equal(listed.length, limits.prefixes);
    const known = new Set(listed.map(({ cidr }) => formatCidr(cidr)));
    for (const { prefix } of all) {
      const cidr = parseCidr(prefix);
      assert.ok(cidr);
      assert.ok(known.has(prefix) || unlisted.some((one) => cidrCovers(one.cidr, cidr)), prefix);
    }
    assert.equal(lists.unlisted[0]?.count, 5000);
    assert.deepEqual([lists.verdict.status, lists.verdict.reason], ['False', 'TooManyPrefixes']);
    assert.match(lists.verdict.message ?? '', /10000 of 15000 prefixes are listed.*Pods reach the other 5000,/);
  });

  it('leave out the same prefixes after a restart, and learned prefixes first', () => {
    const all = [...many(limits.prefixes, { origin: 'bgp' }), ...many(3, {}, 200)];
    const lists = listRoutes('west', all);
    assert.ok(read(lists).listed.some(({ cidr }) => formatCidr(cidr) === '200.0.2.0/24'));
    assert.deepEqual(listRoutes('west', all.toReversed()).unlisted, lists.unlisted);
  });

  it('stay small however many tags other clusters set', () => {
    const tags = (at: number): readonly string[] => Array.from({ length: 1000 }, (_, tag) => `${at}-${tag}`.repeat(20));
    const all = many(500).map((one, at) => ({ ...one, tags: tags(at) }));
    const lists = listRoutes('west', all);
    assert.ok(JSON.stringify(lists.entries).length < limits.bytes * 1.1);
    assert.ok(JSON.stringify(lists.sample).length < limits.sampleBytes);
    assert.equal(lists.verdict.reason, 'TooManyPrefixes');
    assert.equal(read(lists).listed.length + (lists.unlisted[0]?.count ?? 0), 500);
    const huge = Array.from({ length: 2000 }, () => 'x'.repeat(100));
    assert.deepEqual(listRoutes('west', [use('10.1.0.0/24', { tags: huge }), use('10.2.0.0/24')]).unlisted, [
      { transitSwitch: 'ts', count: 1, within: ['10.1.0.0/24'] },
    ]);
  });

  it('contain no two entries with the same key in a slice', () => {
    const lists = listRoutes('west', many(limits.prefixes + 700));
    assert.equal(new Set(lists.entries.map(remoteRoutes.keyOf)).size, lists.entries.length);
  });
});
