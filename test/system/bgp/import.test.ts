/** Imported prefixes: by policy, within limits, never the cluster's own, and removed with the session. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  bgpRouteSlices,
  routePolicies,
} from '../../../lib/kube/resources.ts';
import { bgpRoutes } from '../../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../../lib/api/kinds/bgp-route-slice.ts';
import { joinSliced } from '../../../lib/slices/slice.ts';
import type { BgpNodeStateStatus } from '../../../lib/api/kinds/bgp-node-state.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { untilEstablished } from './until.ts';

const only4 = onlyGobgpd4('does not tell of routes that come and go');
let bed: SpeakerBed;
let frr: FrrPeer;
/** The hold time of the lost session in seconds, longer than any machine needs to report the loss. */
const longHold = 120;
const announces = [
  '198.51.100.0/24',
  '198.51.100.128/25',
  '203.0.113.0/24',
  '10.16.5.0/24',
  '0.0.0.0/0',
  'fd00:99::/64',
];

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'frr', asn: 65101, announces },
    { kind: 'frr', name: 'other', asn: 65102, announces: ['198.51.100.0/24'], holdSeconds: longHold },
    { kind: 'bird', name: 'bird', asn: 65103, announces: ['192.0.2.0/24'] },
  ]);
  frr = bed.lab.frr('frr');
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  await bed.createSubnet('ovn-default', '10.16.0.0/16');
});

after(() => (bed as SpeakerBed | undefined)?.close());

async function nodeState(): Promise<BgpNodeStateStatus> {
  const { status = {} } = (await bed.kube.get(bgpNodeStates, { name: 'n1' })) as { status?: BgpNodeStateStatus };
  return status;
}

/** The routes in the slices, which programs read. The few routes of this test are all in the status too. */
async function learnedRoutes(): Promise<readonly BgpRoute[]> {
  const [owners, slices] = [await bed.kube.list(bgpNodeStates), await bed.kube.list(bgpRouteSlices)];
  const view = {
    kind: bgpRoutes,
    merge: (routes: readonly BgpRoute[]) => routes,
    parse: () => (routes: readonly BgpRoute[]) => routes,
  };
  const routes = joinSliced(view, owners, slices).get('n1') ?? [];
  assert.ok(owners.length === 0 || slices.length > 0);
  const { learned = [], learnedRoutes: count } = await nodeState();
  assert.deepEqual([learned.length, count ?? 0], [routes.length, routes.length]);
  return routes;
}

/** Waits until exactly these routes are learned: `prefix next hop preference`. */
async function untilLearned(wanted: readonly string[], timeoutMs?: number): Promise<void> {
  await eventuallyPasses(
    async () => {
      const found = (await learnedRoutes()).map(
        ({ prefix, nextHop, preference }) => `${prefix} ${nextHop} ${preference}`,
      );
      assert.deepEqual(found.toSorted(), wanted.toSorted());
    },
    timeoutMs,
    20,
  );
}

const notUsed = async (address: string) =>
  Object.fromEntries(
    ((await nodeState()).peers?.find((peer) => peer.address === address)?.notUsed ?? []).map(({ reason, count }) => [
      reason,
      count,
    ]),
  );

test('prefixes are used only with import and a policy that allows them', only4, async () => {
  await bed.createPeer(frr, 4);
  await untilEstablished(frr);
  await bed.patchPeer('frr', { import: {} });
  await eventuallyPasses(async () => assert.deepEqual(await notUsed(frr.link.v4), { Denied: 5 }));
  await untilLearned([]);
});

test('a policy never allows own networks, and allows a default route only if it names it', only4, async () => {
  const { v4 } = frr.link;
  await bed.create(routePolicies, 'from-frr', { direction: 'Import', bgpPeers: ['frr'], rules: [{}] });
  await untilLearned([`198.51.100.0/24 ${v4} 100`, `198.51.100.128/25 ${v4} 100`, `203.0.113.0/24 ${v4} 100`]);
  await eventuallyPasses(async () => assert.deepEqual(await notUsed(v4), { DefaultRoute: 1, OwnPrefix: 1 }));
  const rules = [
    { match: { prefixes: [{ cidr: '198.51.100.0/24', le: 32 }] }, setPreference: 200, setTags: ['edge'] },
    { match: { prefixes: [{ cidr: '0.0.0.0/0' }] } },
  ];
  await bed.kube.patch(routePolicies, { name: 'from-frr' }, 'merge', { spec: { rules } });
  await untilLearned([`0.0.0.0/0 ${v4} 100`, `198.51.100.0/24 ${v4} 200`, `198.51.100.128/25 ${v4} 200`]);
  const [, first] = (await nodeState()).learned ?? [];
  assert.deepEqual([first?.asPath, first?.tags, first?.peer], ['65101', ['edge'], 'frr']);
});

test('learned routes follow the router’s changes, and prefixes above the limit are refused', only4, async () => {
  const { v4 } = frr.link;
  await frr.configure('router bgp 65101', 'address-family ipv4 unicast', 'no network 198.51.100.128/25');
  await untilLearned([`0.0.0.0/0 ${v4} 100`, `198.51.100.0/24 ${v4} 200`]);
  await frr.configure('router bgp 65101', 'address-family ipv4 unicast', 'network 198.51.100.128/25');
  await bed.patchPeer('frr', { import: { maxPrefixes: 2 } });
  await untilLearned([`0.0.0.0/0 ${v4} 100`, `198.51.100.0/24 ${v4} 200`]);
  await eventuallyPasses(async () => assert.equal((await notUsed(v4))['OverLimit'], 1));
  await bed.patchPeer('frr', { import: { maxPrefixes: null } });
});

test(
  'a prefix of two routers has two next hops, and a speaker learns the same routes after its restart',
  only4,
  async () => {
    await bed.createPeer(bed.lab.peer('other'), 4, {
      holdTimeSeconds: longHold,
      keepaliveSeconds: longHold / 3,
      import: { vpc: 'ovn-cluster' },
    });
    await bed.create(routePolicies, 'from-other', { direction: 'Import', bgpPeers: ['other'], rules: [{}] });
    const wanted = [
      `0.0.0.0/0 ${frr.link.v4} 100`,
      `198.51.100.0/24 ${frr.link.v4} 200`,
      `198.51.100.0/24 ${bed.lab.peer('other').link.v4} 100`,
      `198.51.100.128/25 ${frr.link.v4} 200`,
    ];
    await untilLearned(wanted);
    assert.equal((await nodeState()).learned?.find(({ peer }) => peer === 'other')?.vpc, 'ovn-cluster');
    await eventuallyPasses(async () => assert.equal((await nodeState()).peers?.[1]?.families?.[0]?.received, 2));
    const before = await bed.untilWritten();
    await bed.killSpeaker();
    bed.startSpeaker();
    await bed.untilWorking();
    await sleep(3000);
    await untilLearned(wanted);
    assert.deepEqual(await bed.versions(), before, 'a start writes nothing');
  },
);

test('policies match communities, and prefixes with the interconnect’s community are loops', only4, async () => {
  const bird = bed.lab.bird('bird');
  await bed.createPeer(bird, 4, { import: {} });
  const rules = [{ match: { communities: ['65103:7'] } }];
  await bed.create(routePolicies, 'from-bird', { direction: 'Import', bgpPeers: ['bird'], rules });
  await eventuallyPasses(async () => assert.deepEqual(await notUsed(bird.link.v4), { Denied: 1 }));
  await frr.configureSessions('route-map mark out');
  await frr.configure('route-map mark permit 10', 'set large-community 4294967294:18755:1');
  await eventuallyPasses(async () => assert.equal((await notUsed(frr.link.v4))['Loop'], 3));
  await frr.configure('no route-map mark');
  await frr.configureSessions('route-map all out');
  await frr.configure('route-map all permit 10');
  await eventuallyPasses(async () => assert.equal((await notUsed(frr.link.v4))['Loop'], undefined));
});

test('all routes of a lost session are removed at once', only4, async () => {
  const { v4 } = bed.lab.peer('other').link;
  await bed.lab.peer('other').daemon.kill();
  // The hold time is longer.
  await eventuallyPasses(
    async () => assert.ok(!(await nodeState()).learned?.some(({ nextHop }) => nextHop === v4)),
    (longHold * 1000) / 2,
    10,
  );
  await bed.kube.delete(bgpPeers, { name: 'frr' });
  await untilLearned([]);
});
