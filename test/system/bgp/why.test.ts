/** `isthmus bgp` compared with the tables of real routers: two nodes, two routers, random objects. `ISTHMUS_SEED` repeats a run. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findTarget } from '../../../cli/plan/bgp/question.ts';
import { listAnnounced } from '../../../cli/plan/bgp/routes.ts';
import { type Answer, explain } from '../../../cli/plan/bgp/why.ts';
import type { BgpReading } from '../../../cli/model/bgp.ts';
import { readBgp } from '../../../cli/watch/bgp.ts';
import { wellKnownCommunities } from '../../../lib/api/kinds/bgp-advertisement.ts';
import { holds, ownPrefixesOf } from '../../../lib/bgp/own-prefixes.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { isthmusBgp, terminal } from './isthmus.ts';
import { localAsn, openWhyBed, type WhyBed } from './why-bed.ts';
import { createObjects } from './why-objects.ts';
import { type DeniedRanges, isDenied, lengthOf } from './why-policies.ts';

const seed = Number(process.env['ISTHMUS_SEED'] ?? Math.floor(Math.random() * 0xffffffff));
const random = randomOf(seed);
const pairs = 1000;
const programs = 20;

let bed: WhyBed;
let denied: DeniedRanges;
let reading: BgpReading;
let names: readonly string[] = [];
/** The prefixes that each router has from each node, by `node peer`. */
let tables: ReadonlyMap<string, readonly string[]>;

const isthmus = (...argv: readonly string[]) => isthmusBgp(bed.kubeconfig, ...argv);

/** The sessions that come up, each with its router and the node's address in that session. */
function sessions() {
  const [tor1, tor2] = bed.routers;
  return bed.nodes.flatMap(({ name: node, v4, v6 }) => [
    { node, peer: 'tor1', router: tor1, near: v4[0] },
    { node, peer: 'tor2', router: tor2, near: v4[1] },
    ...(node === 'n2' ? [{ node, peer: 'tor1-v6', router: tor1, near: v6[0] }] : []),
  ]);
}

async function readTables(): Promise<ReadonlyMap<string, readonly string[]>> {
  const canonical = (text: string) => {
    const cidr = parseCidr(text);
    return cidr === undefined ? text : formatCidr(cidr);
  };
  const read = sessions().map(async ({ node, peer, router, near }) => {
    const prefixes = await router.prefixesFrom(near);
    return [`${node} ${peer}`, prefixes.map(canonical).toSorted()] as const;
  });
  return new Map(await Promise.all(read));
}

/** Asserts that the routers have all paths of the objects. */
async function assertListed(): Promise<void> {
  tables = await readTables();
  for (const [session, table] of tables) {
    const [node = '', peer = ''] = session.split(' ');
    const listed = listAnnounced(reading, { node, peer, prefix: undefined }).map(({ prefix }) => prefix);
    assert.deepEqual(listed.toSorted(), table, `seed ${seed}: ${session}`);
  }
}

before(async () => {
  bed = await openWhyBed();
  ({ names, denied } = await createObjects(bed, random));
  await eventuallyPasses(async () => {
    const { code, out } = await isthmus('peers', '-o', 'json');
    const { sessions: all } = JSON.parse(out) as { sessions: { state: string }[] };
    assert.equal(all.filter(({ state }) => state === 'Established').length, sessions().length, out);
    assert.equal(code, 1);
  });
  reading = await readBgp(
    { kubeconfig: bed.kubeconfig, context: undefined, namespace: 'kube-system', timeout: '10s' },
    terminal(() => undefined),
  );
  // If they never agree, the tests report the difference.
  await eventuallyPasses(assertListed).catch(() => undefined);
});

after(() => (bed as WhyBed | undefined)?.close());

test('peers lists established sessions and the problems of the others', async () => {
  await eventuallyPasses(async () => {
    const { code, out } = await isthmus('peers');
    assert.equal(code, 1);
    assert.match(out, /n1 +tor1 +172\.31\.1\.201 +65101 +Established/);
    assert.match(out, /n2 with twin: DuplicateAddress: node n2 already has 172\.31\.1\.201 by the older BgpPeer tor1/);
    assert.match(out, /n1 +dead +172\.31\.1\.99 +65199 +(Idle|Active|Connect)/);
  });
  assert.equal((await isthmus('peers', '--peer', 'tor1')).code, 0);
  assert.equal((await isthmus('peers', '--peer', 'odd')).code, 1);
});

test(`why explains ${pairs} sessions of objects as the routers see them; seed ${seed}`, () => {
  const peers = ['tor1', 'tor1', 'tor1', 'tor2', 'tor2', 'tor2', 'tor1-v6', 'dead', 'twin'];
  // Most random objects are announced nowhere, which is the easy case.
  const reached = names.filter(isAnywhere);
  const kept = names.filter((name) => prefixesOf(name).some((prefix) => isDenied(denied, 'tor1', prefix)));
  const groups = [names, kept, reached, reached];
  const seen = { Announced: 0, Covered: 0, NotAnnounced: 0, Denied: 0 };
  for (let at = 0; at < pairs; at += 1) {
    const [object, node, peer] = [pick(random, pick(random, groups)), pick(random, ['n1', 'n2']), pick(random, peers)];
    const target = findTarget(reading.state, object);
    assert.ok(target, object);
    const { answers } = explain(reading, target, { node, peer });
    assert.ok(answers.length > 0);
    for (const answer of answers) {
      seen[answer.state] += 1;
      if (answer.obstacles.some(({ code }) => code === 'Denied')) seen.Denied += 1;
      check(answer, `seed ${seed}: ${object} on ${node} to ${peer}: ${JSON.stringify(answer)}`);
    }
  }
  process.stderr.write(`seed ${seed}: ${JSON.stringify(seen)}\n`);
  for (const count of Object.values(seen)) assert.ok(count > 5, `seed ${seed}: ${JSON.stringify(seen)}`);
});

/** Whether a router has a prefix that contains a prefix of the object. */
function isAnywhere(name: string): boolean {
  const prefixes = [...tables.values()].flat();
  return prefixesOf(name).some((own) => prefixes.some((each) => holds(each, own)));
}

function prefixesOf(name: string): readonly string[] {
  const objects = findTarget(reading.state, name)?.objects ?? [];
  return objects.flatMap((ref) => ownPrefixesOf(reading.state, ref)).map(({ prefix }) => prefix);
}

function check({ prefix, node, peer, state, as, obstacles, objects, advertisements }: Answer, what: string): void {
  const table = tables.get(`${node} ${peer}`) ?? [];
  const holding = prefix === undefined ? [] : table.filter((each) => holds(each, prefix));
  const narrowest = holding.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];
  if (state === 'NotAnnounced') assert.equal(narrowest, undefined, what);
  else if (state === 'Covered') assert.ok(as === narrowest && as !== prefix, what);
  else assert.ok(as !== undefined && table.includes(as), what);
  assert.equal(state === 'Announced', obstacles.length === 0, what);
  if (state === 'Announced') assert.ok(objects.length > 0 && advertisements.length > 0, what);
  for (const { code, message } of obstacles) {
    if (code !== 'Denied') continue;
    assert.ok(prefix !== undefined && isDenied(denied, peer, prefix), what);
    assert.equal(message, `rules[0] of RoutePolicy ${denied.policy} denies it to ${peer}`, what);
  }
}

test(`routers have no prefixes that a policy denies; seed ${seed}`, () => {
  for (const [session, table] of tables) {
    const peer = session.slice(session.indexOf(' ') + 1);
    assert.deepEqual(
      table.filter((prefix) => isDenied(denied, peer, prefix)),
      [],
      `seed ${seed}: ${session}`,
    );
  }
});

test(`the exit code of why reports whether an address or prefix is announced; seed ${seed}`, async () => {
  const all = sessions();
  const owned = [...reading.state.pods.values()].flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
  for (let at = 0; at < programs; at += 1) {
    const { node, peer } = pick(random, all);
    const table = tables.get(`${node} ${peer}`) ?? [];
    const [address, prefix] = [pick(random, owned), pick(random, [...tables.values()].flat())];
    const host = `${address}/${address.includes(':') ? 128 : 32}`;
    const result = await isthmus('why', address, '--node', node, '--peer', peer);
    assert.equal(
      result.code,
      table.some((each) => holds(each, host)) ? 0 : 1,
      `seed ${seed}: ${address}\n${result.out}`,
    );
    const exact = await isthmus('why', prefix, '--node', node, '--peer', peer);
    assert.equal(exact.code, table.includes(prefix) ? 0 : 1, `seed ${seed}: ${prefix}\n${exact.out}`);
  }
});

test(`routes lists the prefixes and attributes that the routers have; seed ${seed}`, async () => {
  for (const { node, peer, router, near } of sessions()) {
    const { code, out } = await isthmus('routes', '--node', node, '--peer', peer, '-o', 'json');
    assert.equal(code, 0);
    const { routes } = JSON.parse(out) as { routes: readonly Listed[] };
    const listed = routes.map(({ prefix }) => prefix).toSorted();
    assert.deepEqual(listed, tables.get(`${node} ${peer}`), `seed ${seed}: ${node} ${peer}`);
    for (const { prefix, attributes } of routes)
      await eventuallyPasses(async () => {
        const seen = await router.path(prefix, near);
        const what = `seed ${seed}: ${prefix} of ${node} at ${peer}: ${JSON.stringify([attributes, seen])}`;
        assert.ok(seen, what);
        assert.deepEqual(seen.communities.map(nameless).toSorted(), attributes.communities.toSorted(), what);
        assert.deepEqual(seen.largeCommunities, attributes.largeCommunities, what);
        assert.equal(seen.med ?? 0, attributes.med ?? 0, what);
        const isInternal = router.asn === localAsn;
        const asPath = Array.from({ length: isInternal ? 0 : attributes.prepend + 1 }, () => localAsn);
        assert.deepEqual(seen.asPath, asPath, what);
        assert.equal(attributes.prepend > 0 && isInternal, false, what);
        if (isInternal) assert.equal(seen.localPref, attributes.localPreference ?? 100, what);
        else assert.equal(attributes.localPreference, undefined, what);
        if (attributes.nextHop !== undefined) assert.equal(seen.nextHop, attributes.nextHop, what);
      });
  }
});

interface Listed {
  readonly prefix: string;
  readonly attributes: NonNullable<Answer['attributes']>;
}

/** The numeric form of a community that has a name. */
function nameless(community: string): string {
  return (wellKnownCommunities as Readonly<Record<string, string>>)[community] ?? community;
}

test('wrong usage exits with 2, unknown objects exit with 1, and the default output is text', async () => {
  await assert.doesNotReject(isthmus('routes'));
  assert.equal((await isthmus('why')).code, 2);
  assert.equal((await isthmus('why', '10.0.0.0/33')).code, 2);
  assert.equal((await isthmus('why', '10.20.1.7/24')).code, 2);
  assert.equal((await isthmus('routes', 'odd')).code, 2);
  assert.equal((await isthmus('why', 'pod/default/nobody')).code, 1);
  assert.equal((await isthmus('why', 'subnet/net1', '--node', 'n9')).code, 1);
  const { out } = await isthmus('why', 'join');
  assert.match(out, /^subnet\/join is not announced/);
});
