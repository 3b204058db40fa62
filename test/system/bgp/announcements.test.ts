/** Announcements as FRR and BIRD receive them: pods, services, annotations, attributes, aggregates, policies, drain. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  loadBalancerPools,
  namespaces,
  nodes,
  pods,
  routePolicies,
  services,
  subnets,
} from '../../../lib/kube/resources.ts';
import type { ObjectName, Resource } from '../../../lib/kube/types.ts';
import type { BirdPeer } from './bird.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilEstablished, untilQuiet, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let frr: FrrPeer;
let inner: FrrPeer;
let bird: BirdPeer;

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'frr', asn: 65101 },
    { kind: 'frr', name: 'inner', asn: 65001, nodeAsn: 65001 },
    { kind: 'bird', name: 'bird', asn: 65102 },
  ]);
  [frr, inner, bird] = [bed.lab.frr('frr'), bed.lab.frr('inner'), bed.lab.bird('bird')];
  await bed.createNode('n2', '172.31.99.12', { 'ovn.kubernetes.io/bgp': 'true' });
  await bed.createSubnet('ovn-default', '10.16.0.0/16,fd00:10:16::/64');
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  for (const peer of bed.lab.peers) await bed.createPeer(peer, 4);
  for (const peer of bed.lab.peers) await untilEstablished(peer);
});

after(() => (bed as SpeakerBed | undefined)?.close());

const remove = (name: string) => bed.kube.delete(bgpAdvertisements, { name });
const advertise = (name: string, spec: object, labels: Record<string, string> = {}) =>
  bed.create(bgpAdvertisements, name, spec, labels);
const prefixes = async (peer: FrrPeer | BirdPeer = frr) => Object.keys(await peer.routes()).toSorted();

test('a pod is announced by its node while it is ready, and withdrawn when it is deleted', async () => {
  await advertise('pods', { source: 'Pod', selector: { matchLabels: { app: 'web' } } });
  await bed.createPod('a', '10.16.0.5', { labels: { app: 'web' }, isReady: false });
  await bed.createPod('b', '10.16.0.6', { labels: { app: 'web' }, node: 'n2' });
  await bed.createPod('c', '10.16.0.7', { labels: { app: 'db' } });
  await sleep(300);
  assert.deepEqual(await prefixes(), []);
  await bed.setPodReady('a', true);
  for (const peer of bed.lab.peers) await untilRoutes(peer, { '10.16.0.5/32': [peer.link.nodeV4] });
  await eventuallyPasses(async () => {
    const { prefixCount, prefixes: shown, notAnnounced } = await bed.status(bgpAdvertisements, 'pods');
    assert.deepEqual([prefixCount, shown, notAnnounced], [2, ['10.16.0.5/32', '10.16.0.6/32'], []]);
  });
  await bed.kube.delete(pods, { name: 'a', namespace: 'default' });
  await untilRoutes(frr, []);
  await remove('pods');
});

test('a namespaceSelector selects the pods of labelled namespaces', async () => {
  await advertise('prod', { source: 'Pod', namespaceSelector: { matchLabels: { env: 'prod' } } });
  const label = (env: string | null) =>
    bed.kube.patch(namespaces, { name: 'default' }, 'merge', { metadata: { labels: { env } } });
  await bed.createPod('n', '10.16.0.9');
  await label('prod');
  await untilRoutes(frr, ['10.16.0.7/32', '10.16.0.9/32']);
  await label(null);
  await untilRoutes(frr, []);
  await bed.kube.delete(pods, { name: 'n', namespace: 'default' });
  await remove('prod');
});

test('annotations have the same effect as in Kube-OVN', async () => {
  await bed.createPod('a', '10.16.0.5');
  await bed.annotate(subnets, 'ovn-default', 'cluster');
  const hosts = ['10.16.0.5/32', '10.16.0.6/32', '10.16.0.7/32'];
  await untilRoutes(frr, ['10.16.0.0/16', ...hosts]);
  await bed.annotate(subnets, 'ovn-default', 'local');
  await untilRoutes(frr, ['10.16.0.5/32', '10.16.0.7/32']);
  await bed.annotate(pods, 'b', 'cluster');
  await bed.annotate(pods, 'c', 'yes');
  await untilRoutes(frr, ['10.16.0.5/32', '10.16.0.6/32']);
  await eventuallyPasses(async () => {
    const events = await bed.kube.list({ group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true });
    const found = events.find((event) => (event['involvedObject'] as { name: string }).name === 'c');
    assert.equal(found?.['reason'], 'AnnotationInvalid');
  });
  for (const name of ['b', 'c']) await bed.annotate(pods, name, null);
  await bed.annotate(subnets, 'ovn-default', null);
  await untilRoutes(frr, []);
});

test('a service is announced by nodes with a ready endpoint, and its withdrawal does not affect others', async () => {
  await advertise('services', { source: 'Service' });
  await bed.createService('one', '203.0.113.1', { externalTrafficPolicy: 'Local' });
  await bed.createService('two', '203.0.113.2');
  await untilRoutes(frr, []);
  await bed.setEndpoints('one', 'n1', 'n2');
  await bed.setEndpoints('two', 'n2');
  await untilRoutes(frr, ['203.0.113.1/32', '203.0.113.2/32']);
  await bed.setEndpoints('one', '!n1', 'n2');
  await untilRoutes(frr, ['203.0.113.2/32']);
  await bed.setEndpoints('two');
  await untilRoutes(frr, []);
  await eventuallyPasses(async () => {
    const { notAnnounced = [] } = await bed.status(bgpAdvertisements, 'services');
    assert.deepEqual(
      notAnnounced.map(({ object, reason }) => `${object} ${reason}`),
      ['Service default/two NoEndpoint'],
    );
  });
  const clusterIp = await bed.createService('three', '203.0.113.3', { externalIPs: ['198.51.100.3', '172.31.1.11'] });
  await bed.setEndpoints('three', 'n1');
  await bed.annotate(services, 'three', 'local');
  await untilRoutes(frr, [`${clusterIp}/32`, '203.0.113.3/32']);
  const serviceAddresses = ['ExternalIP', 'LoadBalancerIP'];
  await bed.kube.patch(bgpAdvertisements, { name: 'services' }, 'merge', { spec: { serviceAddresses } });
  await untilRoutes(frr, [`${clusterIp}/32`, '198.51.100.3/32', '203.0.113.3/32']);
  await eventuallyPasses(async () => {
    const { notAnnounced = [] } = await bed.status(bgpAdvertisements, 'services');
    assert.ok(notAnnounced.some(({ reason }) => reason === 'AddressInUse'));
  });
  for (const name of ['one', 'two', 'three']) await bed.kube.delete(services, { name, namespace: 'default' });
  await untilRoutes(frr, []);
  await remove('services');
});

test('addresses of LoadBalancerPools are the cluster’s own, and so are addresses that Isthmus gave', async () => {
  const setOwned = (ownedPrefixes: readonly string[] | null): Promise<unknown> =>
    bed.kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { ownedPrefixes } });
  const setStatus = (resource: Resource, name: ObjectName, status: object): Promise<unknown> =>
    bed.kube.patch(resource, name, 'merge', { status }, { subresource: 'status' });
  await setOwned(['198.51.100.0/24']);
  await advertise('services', { source: 'Service' });
  await bed.createService('pooled', '203.0.113.9', { externalTrafficPolicy: 'Local' });
  await bed.setEndpoints('pooled', 'n1');
  await eventuallyPasses(async () => {
    const { notAnnounced = [] } = await bed.status(bgpAdvertisements, 'services');
    assert.deepEqual(
      notAnnounced.map(({ object, reason }) => `${object} ${reason}`),
      ['Service default/pooled NotOwned'],
    );
  });
  await bed.create(loadBalancerPools, 'public', { addresses: ['203.0.113.0-203.0.113.15'] });
  const validated = { type: 'Validated', status: 'True', reason: 'Validated' };
  await setStatus(loadBalancerPools, { name: 'public' }, { conditions: [validated] });
  await untilRoutes(frr, ['203.0.113.9/32']);
  const given = { type: 'isthmus.network/LoadBalancerReady', status: 'True', reason: 'AddressesGiven', message: '' };
  const since = { lastTransitionTime: '2026-01-01T00:00:00Z' };
  await setStatus(services, { name: 'pooled', namespace: 'default' }, { conditions: [{ ...given, ...since }] });
  const before = await untilQuiet(frr);
  await bed.kube.delete(loadBalancerPools, { name: 'public' });
  const afterwards = await untilQuiet(frr);
  assert.deepEqual(await prefixes(), ['203.0.113.9/32'], 'an address in use stays announced');
  assert.deepEqual([afterwards.updates, afterwards.established], [before.updates, before.established]);
  await bed.setEndpoints('pooled', '!n1', 'n2');
  await untilRoutes(frr, []);
  await bed.kube.delete(services, { name: 'pooled', namespace: 'default' });
  await remove('services');
  await setOwned(null);
});

test('attributes reach the peers, the local preference only those of the same AS', async () => {
  const attributes = {
    communities: { standard: ['65001:100'], large: ['65001:1:2'], wellKnown: ['no-export'] },
    localPreference: 250,
    med: 42,
    asPathPrepend: 2,
  };
  await advertise('subnets', { source: 'Subnet', attributes });
  const prefix = '10.16.0.0/16';
  for (const peer of [frr, bird]) {
    await untilRoutes(peer, [prefix]);
    const path = await peer.path(prefix);
    assert.deepEqual(path?.asPath, [65001, 65001, 65001]);
    assert.deepEqual(path.communities.toSorted(), ['65001:100', 'no-export']);
    assert.deepEqual(path.largeCommunities, ['65001:1:2']);
    assert.equal(path.med, 42);
    assert.equal(path.nextHop, peer.link.nodeV4);
  }
  await untilRoutes(inner, [prefix]);
  const within = await inner.path(prefix);
  assert.deepEqual([within?.localPref, within?.med], [250, 42]);
  await remove('subnets');
  await untilRoutes(frr, []);
});

test('advertisements of one prefix are merged: all communities, and the most preferred other attributes', async () => {
  const louder = { communities: { standard: ['65001:1'] }, med: 10, localPreference: 100, asPathPrepend: 3 };
  await advertise('a', { source: 'Subnet', attributes: louder });
  const softer = { communities: { standard: ['65001:2'] }, med: 20, localPreference: 200, asPathPrepend: 1 };
  await advertise('b', { source: 'Subnet', attributes: softer, peers: ['frr', 'inner'] });
  await eventuallyPasses(async () => {
    const path = await frr.path('10.16.0.0/16');
    assert.deepEqual([path?.communities.toSorted(), path?.med, path?.asPath.length], [['65001:1', '65001:2'], 10, 2]);
  });
  await eventuallyPasses(async () => assert.equal((await inner.path('10.16.0.0/16'))?.localPref, 200));
  await eventuallyPasses(async () => {
    const { communities, asPath } = (await bird.path('10.16.0.0/16')) ?? {};
    assert.deepEqual([communities, asPath?.length], [['65001:1'], 4], 'BIRD gets only the first');
  });
  await remove('b');
  await eventuallyPasses(async () => assert.deepEqual((await frr.path('10.16.0.0/16'))?.communities, ['65001:1']));
  await remove('a');
  await untilRoutes(bird, []);
});

test('a changed attribute sends only its own prefixes again and resets no session', async () => {
  await advertise('subnets', { source: 'Subnet' });
  const labels = { app: 'many' };
  await advertise('pods', { source: 'Pod', selector: { matchLabels: labels } });
  for (let at = 1; at <= 20; at++) await bed.createPod(`many-${at}`, `10.16.1.${at}`, { labels });
  await eventuallyPasses(async () => assert.equal((await prefixes()).length, 21));
  const before = await untilQuiet(frr);
  await bed.kube.patch(bgpAdvertisements, { name: 'subnets' }, 'merge', { spec: { attributes: { med: 7 } } });
  await eventuallyPasses(async () => assert.equal((await frr.path('10.16.0.0/16'))?.med, 7));
  const afterwards = await untilQuiet(frr);
  assert.equal(afterwards.updates - before.updates, 1, 'one UPDATE, for the one prefix');
  assert.equal(afterwards.established, before.established);
  await bed.kube.patch(bgpAdvertisements, { name: 'pods' }, 'merge', { spec: { peers: ['bird'] } });
  await untilRoutes(frr, ['10.16.0.0/16']);
  await eventuallyPasses(async () => assert.equal((await prefixes(bird)).length, 21));
  await bed.kube.patch(bgpAdvertisements, { name: 'pods' }, 'merge', {
    spec: { peers: null, aggregation: { ipv4Length: 28 } },
  });
  await untilRoutes(frr, ['10.16.0.0/16', '10.16.1.0/28', '10.16.1.16/28']);
  for (let at = 16; at <= 20; at++) await bed.kube.delete(pods, { name: `many-${at}`, namespace: 'default' });
  await untilRoutes(frr, ['10.16.0.0/16', '10.16.1.0/28']);
  for (const name of ['pods', 'subnets']) await remove(name);
  await untilRoutes(frr, []);
});

test('a RoutePolicy filters the prefixes for a peer, and an invalid edit leaves the last version in force', async () => {
  await advertise('subnets', { source: 'Subnet' });
  await bed.createSubnet('secret', '10.17.0.0/16');
  await untilRoutes(frr, ['10.16.0.0/16', '10.17.0.0/16']);
  const rules = [
    { match: { prefixes: [{ cidr: '10.17.0.0/16' }] }, action: 'Deny' },
    { match: { sources: ['Subnet'] }, setBgp: { med: 5, communities: { standard: ['65001:5'] } } },
  ];
  await bed.create(routePolicies, 'to-frr', { direction: 'Export', bgpPeers: ['frr'], rules });
  await untilRoutes(frr, ['10.16.0.0/16']);
  await eventuallyPasses(async () => {
    const { med, communities } = (await frr.path('10.16.0.0/16')) ?? {};
    assert.deepEqual([med, communities], [5, ['65001:5']]);
  });
  await untilRoutes(bird, ['10.16.0.0/16', '10.17.0.0/16']);
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(routePolicies, 'to-frr', 'Ready'), 'True InForce'),
  );
  await eventuallyPasses(async () => {
    const { status } = (await bed.kube.get(bgpNodeStates, { name: 'n1' })) as { status?: { policies?: object[] } };
    const decided = [0, 1].map((index) => ({ index, prefixes: 1 }));
    assert.deepEqual(status?.policies, [{ policy: 'to-frr', rules: decided }]);
  });
  const broken = [{ match: { prefixes: [{ cidr: '10.17.0.1/16' }] }, action: 'Deny' }];
  await bed.kube.patch(routePolicies, { name: 'to-frr' }, 'merge', { spec: { rules: broken } });
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(routePolicies, 'to-frr', 'Ready'), 'False PrefixInvalid'),
  );
  assert.deepEqual(await prefixes(), ['10.16.0.0/16'], 'the last valid version goes on');
  await bed.killSpeaker();
  bed.startSpeaker();
  await bed.createSubnet('third', '10.18.0.0/16');
  await untilRoutes(frr, ['10.16.0.0/16', '10.18.0.0/16']);
  await bed.kube.delete(routePolicies, { name: 'to-frr' });
  await untilRoutes(frr, ['10.16.0.0/16', '10.17.0.0/16', '10.18.0.0/16']);
  for (const name of ['secret', 'third']) await bed.kube.delete(subnets, { name });
  await untilRoutes(frr, ['10.16.0.0/16']);
});

test('a drained node sends graceful-shutdown, then withdraws its routes and keeps its sessions', async () => {
  const { established } = await counters(frr);
  await bed.kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { drain: { settleSeconds: 5 } } });
  const drain = (text: string | null) =>
    bed.kube.patch(nodes, { name: 'n1' }, 'merge', {
      metadata: { annotations: { 'isthmus.network/bgp-drain': text } },
    });
  await drain('true');
  await eventuallyPasses(async () =>
    assert.deepEqual((await frr.path('10.16.0.0/16'))?.communities, ['graceful-shutdown']),
  );
  await untilRoutes(frr, []);
  const state = async () => (await bed.kube.get(bgpNodeStates, { name: 'n1' }))['status'] as { drain: string };
  await eventuallyPasses(async () => assert.equal((await state()).drain, 'Drained'));
  await bed.killSpeaker();
  bed.startSpeaker();
  await bed.untilWorking();
  await sleep(1500);
  assert.deepEqual(await prefixes(), []);
  await drain(null);
  await untilRoutes(frr, ['10.16.0.0/16']);
  await eventuallyPasses(async () => assert.deepEqual((await frr.path('10.16.0.0/16'))?.communities, []));
  assert.equal((await counters(frr)).established, established);
});

test('invalid objects have a reason and do not affect others', async () => {
  const before = await untilQuiet(bird);
  await bed.createStored(bgpAdvertisements, {
    big: { source: 'Subnet', attributes: { communities: { standard: ['70000:1'] } } },
    reserved: { source: 'Subnet', attributes: { communities: { large: ['4294967295:1:1'] } } },
    hop: { source: 'Subnet', attributes: { nextHop: { ipv4: 'fd00::1' } } },
  });
  await advertise('nowhere', { source: 'Pod', nodeSelector: { matchLabels: { rack: '9' } } });
  const reasons = { big: 'CommunityInvalid', reserved: 'CommunityInvalid', hop: 'NextHopInvalid', nowhere: 'NoNode' };
  for (const [name, reason] of Object.entries(reasons))
    await eventuallyPasses(async () =>
      assert.equal(await bed.condition(bgpAdvertisements, name, 'Ready'), `False ${reason}`),
    );
  const setBgp = { communities: { standard: ['65001:70000'] } };
  await bed.createStored(routePolicies, {
    big: { direction: 'Export', bgpPeers: ['frr'], rules: [{ setBgp }] },
  });
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(routePolicies, 'big', 'Ready'), 'False CommunityInvalid'),
  );
  await assert.rejects(advertise('local', { source: 'Interconnect', scope: 'Local' }), /scope Local is for/);
  await assert.rejects(advertise('lb', { source: 'Pod', serviceAddresses: ['ClusterIP'] }), /is for source Service/);
  await bed.patchPeer('frr', { routeReflectorClient: true });
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpPeers, 'frr', 'Accepted'), 'False NotInternal'),
  );
  await bed.patchPeer('frr', { routeReflectorClient: null });
  await untilRoutes(frr, ['10.16.0.0/16']);
  assert.deepEqual(await counters(bird), before);
});

test('invalid next hops, invalid addresses and too many communities neither reset a session nor end gobgpd', async () => {
  const before = await Promise.all(bed.lab.peers.map((peer) => untilQuiet(peer)));
  const { pid } = bed.lab.gobgpd;
  const source = 'Subnet';
  const hops = { loopback: '127.0.0.1', multicast: '224.0.0.1', none: '0.0.0.0', 'class-e': '240.0.0.1' };
  await advertise('plain', { source });
  const stored = Object.entries(hops).map(([name, ipv4]) => [name, { source, attributes: { nextHop: { ipv4 } } }]);
  await bed.createStored(bgpAdvertisements, Object.fromEntries(stored) as Record<string, object>);
  const rules = [{ setBgp: { nextHop: { ipv4: '127.0.0.1' } } }];
  await bed.createStored(routePolicies, {
    loopback: { direction: 'Export', bgpPeers: ['frr', 'inner', 'bird'], rules },
  });
  for (const name of Object.keys(hops))
    await bed.untilCondition(bgpAdvertisements, name, 'Ready', 'False NextHopInvalid');
  await bed.untilCondition(routePolicies, 'loopback', 'Ready', 'False NextHopInvalid');

  await advertise('vips', { source: 'Service', serviceAddresses: ['ExternalIP', 'LoadBalancerIP'] });
  const externalIPs = ['240.0.0.1', '239.1.1.1', '198.51.100.77'];
  await bed.createService('odd', '0.0.0.1', { externalIPs });
  await bed.setEndpoints('odd', 'n1');
  await untilRoutes(frr, ['10.16.0.0/16', '198.51.100.77/32']);
  await bed.createSubnet('forged', '10.77.0.0/24', {}, false);
  await bed.accept('forged', '127.0.0.0/8,224.0.0.0/4,0.0.0.0/0,ff00::/8');
  await eventuallyPasses(async () =>
    assert.ok(
      (await bed.status(bgpAdvertisements, 'vips')).notAnnounced?.some(({ reason }) => reason === 'AddressInvalid'),
    ),
  );

  const large = (at: number) => Array.from({ length: 32 }, (_, index) => `65001:${at}:${index}`);
  const many = Array.from({ length: 14 }, (_, at) => `many-${at}`);
  await Promise.all(
    many.map((name, at) => advertise(name, { source, attributes: { communities: { large: large(at) } } })),
  );
  const crowded = async (): Promise<string[]> => {
    const all = await Promise.all(many.map((name) => bed.status(bgpAdvertisements, name)));
    return many.filter((_, at) => all[at]?.notAnnounced?.some(({ reason }) => reason === 'TooManyCommunities'));
  };
  await eventuallyPasses(async () => assert.equal((await crowded()).length, 6));
  for (const peer of [frr, inner])
    await eventuallyPasses(async () =>
      assert.equal((await peer.path('10.16.0.0/16'))?.largeCommunities.length, 8 * 32),
    );

  assert.equal(bed.lab.gobgpd.pid, pid);
  process.kill(pid, 0);
  const after = await Promise.all(bed.lab.peers.map((peer) => untilQuiet(peer)));
  assert.deepEqual(
    after.map(({ established }) => established),
    before.map(({ established }) => established),
  );
  for (const name of [...Object.keys(hops), ...many, 'vips', 'plain']) await remove(name);
});
