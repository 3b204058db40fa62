/** In a ring of clusters and routers, learned prefixes cause no loop and disappear with their origin. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomOf } from '../../lib/testing-random.ts';
import { Cluster, Router, World } from './ring.ts';

const everything = { rules: [{ match: { origins: ['bgp', 'connected'] } }] };
/** Behind r1, r2, and both. */
const [one, two, both] = ['192.0.1.0/24', '192.0.2.0/24', '192.0.3.0/24'];
const subnets = { a: '10.16.0.0/16', b: '10.17.0.0/16', c: '10.18.0.0/16' } as const;
const addressIn = (prefix: string): string => prefix.replace(/\.0\/\d+$/, '.9');

/** a–b–c joined by the interconnect; r1 peers with a and b, r2 with b and c, and both with each other. */
function ring(exporting: object = everything): World {
  const clusters = (['a', 'b', 'c'] as const).map(
    (name, at) => new Cluster(name, 65_001 + at, subnets[name], exporting),
  );
  const world = new World([new Router('r1', 65_101), new Router('r2', 65_102)], clusters);
  for (const [left, right] of sessions) world.link(left, right);
  for (const [router, prefixes] of [
    ['r1', [one, both]],
    ['r2', [two, both]],
  ] as const)
    for (const prefix of prefixes) (world.actor(router) as Router).origins.add(prefix);
  return world;
}

const sessions = [
  ['a', 'r1'],
  ['b', 'r1'],
  ['b', 'r2'],
  ['c', 'r2'],
  ['r1', 'r2'],
] as const;
const places = ['a', 'b', 'c', 'r1', 'r2'];
const prefixes = [one, two, both, ...Object.values(subnets)] as string[];

function assertNoLoops(world: World, what: string): void {
  for (const from of places)
    for (const prefix of prefixes)
      for (const end of world.ends(from, addressIn(prefix)))
        assert.ok(!end.startsWith('loop'), `${what}: ${from} to ${prefix}: ${end}\n${world.describe()}`);
}

const endsOf = (world: World, from: string, prefix: string | undefined): string =>
  [...world.ends(from, addressIn(prefix ?? ''))].sort().join();
const router = (world: World, name: string): Router => world.actor(name) as Router;

function permutations<T>(list: readonly T[]): readonly (readonly T[])[] {
  if (list.length < 2) return [list];
  return list.flatMap((first, at) => permutations(list.toSpliced(at, 1)).map((rest) => [first, ...rest]));
}

describe('a ring of three clusters and two routers', () => {
  it('converges: every prefix is reachable from every place, through the own routers where there are sessions', () => {
    const world = ring();
    world.settle(randomOf(1));
    for (const from of places) {
      assert.equal(endsOf(world, from, one), 'r1', from);
      assert.equal(endsOf(world, from, two), 'r2', from);
      for (const [name, subnet] of Object.entries(subnets)) assert.equal(endsOf(world, from, subnet), name, from);
    }
    const a = world.actor('a') as Cluster;
    assert.deepEqual(a.hops({ family: 4, value: 0xc0000109n }), ['r1']);
  });

  it('a cluster’s own prefixes learned from routers are offered to no other cluster, with an interconnect community or without', () => {
    for (const tellsOfOthers of [true, false]) {
      const world = ring();
      for (const cluster of world.clusters) cluster.tellsOfOthers = tellsOfOthers;
      world.settle(randomOf(1));
      const unique = (list: readonly string[]) => [...new Set(list)].sort();
      const learned = world.clusters.flatMap((each) => [...each.learned.values()].flat());
      const wan = [one, two, both];
      const heard = unique(learned.map(({ prefix }) => prefix));
      assert.deepEqual(heard, tellsOfOthers ? wan : [...Object.values(subnets), ...wan].sort());
      const offered = world.clusters.flatMap(({ request }) => request.filter(({ origin }) => origin === 'bgp'));
      assert.deepEqual(unique(offered.map(({ cidr }) => cidr)), wan);
      for (const from of places)
        for (const [name, subnet] of Object.entries(subnets)) assert.equal(endsOf(world, from, subnet), name, from);
    }
  });

  it('a route with an interconnect community is learned by no cluster, even if routers prefer it', () => {
    const world = ring();
    for (const cluster of world.clusters) cluster.tellsOfOthers = cluster.name === 'a';
    world.settle(randomOf(1));
    assert.equal(router(world, 'r1').best.get(subnets.c)?.from, 'a');
    const learned = (from: string) =>
      (world.actor('b') as Cluster).learned.get(from)?.map(({ prefix }) => prefix) ?? [];
    assert.deepEqual(learned('r1').toSorted(), [subnets.a, one, two, both]);
    assert.ok(learned('r2').includes(subnets.c));
  });

  it('a cluster without sessions routes through another cluster, and through its own router when the session is back', () => {
    const world = ring();
    const random = randomOf(2);
    world.settle(random);
    world.link('a', 'r1', false);
    world.settle(random);
    assertNoLoops(world, 'a alone');
    const a = world.actor('a') as Cluster;
    assert.deepEqual(a.hops({ family: 4, value: 0xc0000109n }), ['b']);
    for (const [prefix, end] of [
      [one, 'r1'],
      [two, 'r2'],
    ] as const)
      assert.equal(endsOf(world, 'a', prefix), end);
    // Both b and c have a route; b is first by name. Without a path to b, c is used.
    world.cut.add('a b');
    world.settle(random);
    assert.deepEqual(a.hops({ family: 4, value: 0xc0000109n }), ['c']);
    world.link('a', 'r1');
    world.settle(random);
    assert.deepEqual(a.hops({ family: 4, value: 0xc0000109n }), ['r1']);
  });

  it('learned prefixes are not exported to other clusters without a policy', () => {
    const world = ring({ rules: [{}] });
    world.link('a', 'r1', false);
    world.settle(randomOf(3));
    assert.equal(endsOf(world, 'a', one), 'dropped');
    assert.equal(endsOf(world, 'a', subnets.c), 'c');
  });

  it('no route to a prefix remains after its origin is removed, in any order of its removal and that of sessions', () => {
    const ends = [
      (world: World) => void router(world, 'r1').origins.delete(one),
      (world: World) => world.link('a', 'r1', false),
      (world: World) => world.link('b', 'r1', false),
      (world: World) => world.link('b', 'r2', false),
      (world: World) => world.link('r1', 'r2', false),
    ];
    let most = 0;
    for (const [seed, order] of permutations(ends).entries()) {
      const world = ring();
      const random = randomOf(seed);
      world.settle(random);
      for (const [at, end] of order.entries()) {
        end(world);
        most = Math.max(most, world.settle(random));
        assertNoLoops(world, `order ${seed}, ${at + 1} done`);
        if (!router(world, 'r1').origins.has(one)) assert.deepEqual(world.traces(one), [], world.describe());
      }
    }
    assert.ok(most <= 8, `${most} rounds`);
  });

  it('no route remains when all origins are removed at once while actors still hold earlier routes', () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const world = ring();
      const random = randomOf(seed);
      world.settle(random);
      for (const name of ['r1', 'r2']) router(world, name).origins.clear();
      world.settle(random);
      for (const prefix of [one, two, both]) assert.deepEqual(world.traces(prefix), []);
    }
  });

  it('a cluster that leaves is reached through routers, and through the interconnect after it rejoins', () => {
    const world = ring();
    const random = randomOf(5);
    world.settle(random);
    const c = world.actor('c') as Cluster;
    c.isJoined = false;
    world.settle(random);
    assertNoLoops(world, 'c left');
    for (const from of places) assert.equal(endsOf(world, from, subnets.c), 'c', from);
    world.link('a', 'r1', false);
    world.settle(random);
    // Now only routers advertise this prefix.
    assert.equal(endsOf(world, 'a', subnets.c), 'c');
    c.isJoined = true;
    world.settle(random);
    assertNoLoops(world, 'c is back');
    assert.deepEqual((world.actor('a') as Cluster).hops({ family: 4, value: 0x0a120009n }), ['c']);
  });

  for (const [what, exporting] of [
    ['each by itself', everything],
    ['as one aggregate', { rules: [{ match: { origins: ['bgp'] }, aggregate: '192.0.0.0/16' }, {}] }],
    [
      'some as a longer aggregate',
      {
        rules: [
          { match: { origins: ['bgp'], prefixes: [{ cidr: two }] }, aggregate: '192.0.2.0/23' },
          { match: { origins: ['bgp'] }, aggregate: '192.0.0.0/16' },
        ],
      },
    ],
  ] as const)
    it(`sessions, paths, origins and members come and go: no packet goes round (${what})`, () => {
      const world = ring(exporting);
      const random = randomOf(6);
      for (let step = 0; step < 250; step += 1) {
        const action = random(4);
        const [left, right] = sessions[random(sessions.length)] ?? sessions[0];
        const pair = ['a b', 'a c', 'b c'][random(3)] ?? '';
        const cluster = world.clusters[random(3)];
        const of = router(world, ['r1', 'r2'][random(2)] ?? '');
        const prefix = [one, two, both, '192.0.0.0/16'][random(4)] ?? '';
        if (action === 0) world.link(left, right, random(2) === 0);
        else if (action === 1 && !world.cut.delete(pair)) world.cut.add(pair);
        else if (action === 2 && !of.origins.delete(prefix)) of.origins.add(prefix);
        else if (action === 3 && cluster !== undefined)
          [cluster.isJoined, cluster.tellsOfOthers] = [random(3) > 0, random(2) === 0];
        world.settle(random);
        assertNoLoops(world, `step ${step}`);
        const origins = new Set(world.routers.flatMap((each) => [...each.origins]));
        for (const each of [one, two, both] as string[])
          if (!origins.has(each)) assert.deepEqual(world.traces(each), [], `step ${step}\n${world.describe()}`);
      }
    });
});
