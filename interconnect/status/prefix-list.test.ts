import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRemotePrefixes } from '../../lib/api/remote-prefixes.ts';
import { cidrCovers, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { limits, listRoutes, type RouteLists } from './prefix-list.ts';

const paths = [
  { switch: 'ts', address: '100.100.0.2' },
  { switch: 'ts1', address: '100.100.32.2' },
];

function use(prefix: string, more: Partial<RouteUse> = {}): RouteUse {
  const hops = paths.map((hop) => ({ ...hop, isUsed: true, problem: undefined }));
  const common = { transitSwitch: 'ts', router: 'ovn-cluster', origin: 'connected', tags: [], isMine: true };
  return { ...common, prefix, hops, rejected: undefined, ...more };
}

const many = (count: number, more: Partial<RouteUse> = {}, first = 10): readonly RouteUse[] =>
  Array.from({ length: count }, (_, at) => use(`${first + (at >> 16)}.${(at >> 8) & 255}.${at & 255}.0/24`, more));

/** As programs read it. */
const read = ({ routes, prefixes, unlisted }: RouteLists) =>
  readRemotePrefixes({
    metadata: { name: 'west', uid: 'u', resourceVersion: '1' },
    status: JSON.parse(JSON.stringify({ routes, prefixes, unlisted })) as object,
  });

describe('what a RemoteCluster lists', () => {
  it('has each prefix once for programs, whatever has become of its hops; none that is rejected', () => {
    const problem = { code: 'NextHopDown', message: 'm' };
    const backup = paths.map((hop) => ({ ...hop, isUsed: false, problem }));
    const lists = listRoutes('west', [
      use('10.1.0.0/24'),
      use('10.2.0.0/24'),
      use('10.3.0.0/24', { hops: backup }),
      use('10.4.0.0/24', { rejected: { code: 'Denied', message: 'm' } }),
    ]);
    assert.deepEqual(lists.prefixes, [
      { transitSwitch: 'ts', state: 'Active', origin: 'connected', cidrs: ['10.1.0.0/24', '10.2.0.0/24'] },
      { transitSwitch: 'ts', state: 'Backup', origin: 'connected', cidrs: ['10.3.0.0/24'] },
    ]);
    assert.equal(lists.routes.length, 7);
    assert.deepEqual([lists.verdict.status, lists.verdict.reason], ['True', 'Listed']);
  });

  it('says that not all next hops are shown, which takes nothing from programs', () => {
    const lists = listRoutes('west', many(2000));
    assert.equal(lists.routes.length, limits.hops);
    assert.equal(read(lists).listed.length, 2000);
    assert.deepEqual(lists.unlisted, []);
    assert.deepEqual([lists.verdict.status, lists.verdict.reason], ['True', 'HopsCut']);
    assert.match(lists.verdict.message ?? '', /prefixes: 2000; of 4000 next hops status.routes lists 1000/);
  });

  it('says with counts that prefixes have no room; networks hold those that are left out', () => {
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

  it('leaves out the same after a restart, and first what a router there announces', () => {
    const all = [...many(limits.prefixes, { origin: 'bgp' }), ...many(3, {}, 200)];
    const lists = listRoutes('west', all);
    assert.ok(read(lists).listed.some(({ cidr }) => formatCidr(cidr) === '200.0.2.0/24'));
    assert.deepEqual(listRoutes('west', all.toReversed()).unlisted, lists.unlisted);
  });

  it('stays small whatever others put into tags', () => {
    const tags = (at: number): readonly string[] => Array.from({ length: 1000 }, (_, tag) => `${at}-${tag}`.repeat(20));
    const all = many(50).map((one, at) => ({ ...one, tags: tags(at) }));
    const lists = listRoutes('west', all);
    assert.ok(JSON.stringify([lists.routes, lists.prefixes, lists.unlisted]).length < 1_000_000);
    assert.equal(lists.verdict.reason, 'TooManyPrefixes');
    assert.equal(read(lists).listed.length + (lists.unlisted[0]?.count ?? 0), 50);
  });

  it('is read from the hops of an agent that wrote no prefixes', () => {
    const { routes } = listRoutes('west', [use('10.1.0.0/24'), use('10.2.0.0/24')]);
    const { listed } = readRemotePrefixes({
      metadata: { name: 'west', uid: 'u', resourceVersion: '1' },
      status: { routes },
    });
    assert.deepEqual(
      listed.map(({ cidr, isActive }) => [formatCidr(cidr), isActive]),
      [
        ['10.1.0.0/24', true],
        ['10.2.0.0/24', true],
      ],
    );
  });
});
