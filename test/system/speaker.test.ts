/** The speaker with a real API server, gobgpd and two FRR routers: objects lead to routes at the routers and to statuses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpPeers,
  events,
  nodes,
  secrets,
  subnets,
} from '../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../lib/testing-eventually.ts';
import type { FrrPeer } from './bgp/frr.ts';
import type { NeighborCounters } from './bgp/peer.ts';
import { counters, untilQuiet, untilRoutes } from './bgp/until.ts';
import { openSpeakerBed, type SpeakerBed } from './bgp/speaker-bed.ts';

let bed: SpeakerBed;
let tor1: FrrPeer;
let tor2: FrrPeer;

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'tor1', asn: 65101, announces: ['192.0.2.0/24'] },
    { kind: 'frr', name: 'tor2', asn: 65102, announces: ['192.0.2.0/24'] },
  ]);
  [tor1, tor2] = [bed.lab.frr('tor1'), bed.lab.frr('tor2')];
  await bed.createNode('n2', '172.31.9.12', {});
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** The routers' counters of their sessions with the node. */
function sessions(): Promise<NeighborCounters[]> {
  return Promise.all([counters(tor1), counters(tor1, 6), counters(tor2)]);
}

function untilAllQuiet(): Promise<NeighborCounters[]> {
  return Promise.all([untilQuiet(tor1), untilQuiet(tor1, 6), untilQuiet(tor2)]);
}

test('a subnet is announced to the peers that select it, with the next hop of each link', async () => {
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' }, { scope: 'all' });
  await bed.create(
    bgpAdvertisements,
    'public',
    { source: 'Subnet', selector: { matchLabels: { tier: 'public' } } },
    { scope: 'public' },
  );
  await bed.createPeer(tor1, 4);
  await bed.createPeer(tor1, 6);
  await bed.createPeer(tor2, 4, { advertisements: { matchLabels: { scope: 'public' } } });
  await bed.createSubnet('ovn-default', '10.16.0.0/16,fd00:10:16::/64', {});
  await bed.createSubnet('web', '10.20.0.0/24', { tier: 'public' });
  await bed.createSubnet('join', '100.64.0.0/16', { tier: 'public' });
  await bed.createSubnet('broken', '10.30.0.0/24', { tier: 'public' }, false);

  await untilRoutes(tor1, { '10.16.0.0/16': [tor1.link.nodeV4], '10.20.0.0/24': [tor1.link.nodeV4] });
  await untilRoutes(tor2, { '10.20.0.0/24': [tor2.link.nodeV4] });
  await untilRoutes(tor1, { 'fd00:10:16::/64': [tor1.link.nodeV6] }, 6);
  await untilAllQuiet();
});

test('statuses report sessions and announced prefixes', async () => {
  await eventuallyPasses(async () => assert.equal((await bed.status(bgpPeers, 'tor1')).established, '1/1'));
  await eventuallyPasses(async () => assert.equal((await bed.status(bgpPeers, 'tor1')).nodes?.[0]?.advertised, 2));
  await bed.untilCondition(bgpPeers, 'tor1', 'Accepted', 'True Accepted');
  await bed.untilCondition(bgpPeers, 'tor1', 'Established', 'True Established');
  await bed.untilCondition(bgpInstances, 'rack', 'Ready', 'True Ready');
  const announced = { public: ['10.20.0.0/24'], all: ['10.16.0.0/16', '10.20.0.0/24', 'fd00:10:16::/64'] };
  for (const [name, prefixes] of Object.entries(announced))
    await eventuallyPasses(async () =>
      assert.deepEqual((await bed.status(bgpAdvertisements, name)).prefixes, prefixes),
    );
  await eventuallyPasses(async () => assert.ok((await bed.eventReasons('tor1')).includes('SessionEstablished')));
});

test('prefixes of a neighbour are not imported without import', async () => {
  await bed.gobgp(async (gobgp) => {
    const received = () => gobgp.listPaths('ipv4-unicast', { table: 'adj-in', peer: tor1.link.v4 });
    // FRR waits a second before it sends its own routes.
    await eventuallyPasses(async () => assert.ok((await received()).some(({ prefix }) => prefix === '192.0.2.0/24')));
    assert.ok((await gobgp.listPaths('ipv4-unicast')).every(({ isLocal }) => isLocal));
  });
});

test('an accepted subnet is announced, and its deletion or a changed label withdraws only its own route', async () => {
  await bed.accept('broken', '10.30.0.0/24');
  await untilRoutes(tor2, ['10.20.0.0/24', '10.30.0.0/24']);
  await bed.kube.delete(subnets, { name: 'broken' });
  await untilRoutes(tor2, ['10.20.0.0/24']);
  await untilRoutes(tor1, ['10.16.0.0/16', '10.20.0.0/24']);
  await bed.kube.patch(subnets, { name: 'web' }, 'merge', { metadata: { labels: { tier: 'private' } } });
  await untilRoutes(tor2, {});
  assert.ok('10.20.0.0/24' in (await tor1.routes()));
  await bed.kube.patch(subnets, { name: 'web' }, 'merge', { metadata: { labels: { tier: 'public' } } });
  await untilRoutes(tor2, ['10.20.0.0/24']);
});

test('a killed speaker sends no UPDATE and writes nothing after its restart', async () => {
  const before = await untilAllQuiet();
  const written = await bed.untilWritten();
  await bed.killSpeaker();
  bed.startSpeaker();
  await bed.untilWorking();
  await sleep(3000);
  assert.deepEqual(await sessions(), before);
  assert.deepEqual(await bed.versions(), written);
});

test('a speaker makes only the changes that occurred while it was down', async () => {
  const before = await untilQuiet(tor2);
  await bed.killSpeaker();
  await bed.createSubnet('late', '10.40.0.0/24', {});
  bed.startSpeaker();
  await eventuallyPasses(async () => assert.ok('10.40.0.0/24' in (await tor1.routes())));
  assert.deepEqual(await counters(tor2), before);
  await bed.killSpeaker();
  await bed.kube.delete(subnets, { name: 'ovn-default' });
  bed.startSpeaker();
  await untilRoutes(tor1, ['10.20.0.0/24', '10.40.0.0/24']);
  assert.deepEqual(Object.keys(await tor2.routes()), ['10.20.0.0/24']);
});

test('routers retain the routes while a killed gobgpd restarts', async () => {
  const { established } = await counters(tor1);
  await bed.lab.gobgpd.kill();
  await eventuallyPasses(async () =>
    assert.equal((await bed.status(bgpPeers, 'tor1')).nodes?.[0]?.state, 'Unreachable'),
  );
  await bed.untilCondition(bgpInstances, 'rack', 'Ready', 'False DaemonUnreachable');
  const missing: number[] = [];
  const watching = new AbortController();
  const watched = (async () => {
    while (!watching.signal.aborted) {
      if (!('10.20.0.0/24' in (await tor1.routes()))) missing.push(performance.now());
      await sleep(5);
    }
  })();
  await bed.lab.gobgpd.restart();
  await eventuallyPasses(async () => assert.equal((await counters(tor1)).established, established + 1));
  await eventuallyPasses(async () => assert.equal((await bed.status(bgpPeers, 'tor1')).established, '1/1'));
  await untilAllQuiet();
  watching.abort();
  await watched;
  assert.deepEqual(missing, []);
  await bed.untilCondition(bgpInstances, 'rack', 'Ready', 'True Ready');
  await eventuallyPasses(async () => assert.ok((await bed.eventReasons('tor1')).includes('SessionLost')));
});

test('invalid objects are refused with a reason and an event, and do not affect others', async () => {
  const before = await untilQuiet(tor1);
  await bed.create(bgpPeers, 'twin', { instance: 'rack', address: tor1.link.v4, asn: 65999 });
  await bed.create(bgpPeers, 'self', { instance: 'rack', address: tor1.link.nodeV4, asn: 65001 });
  await bed.createStored(bgpPeers, { nothing: { instance: 'rack', address: '0.0.0.0', asn: 65001 } });
  await bed.create(bgpPeers, 'stray', { instance: 'nowhere', address: '192.0.2.9', asn: 65001 });
  await bed.create(bgpInstances, 'younger', { localASN: 65077 });
  const refusals = {
    twin: 'DuplicateAddress',
    self: 'OwnAddress',
    nothing: 'InvalidAddress',
    stray: 'UnknownInstance',
  };
  for (const [name, reason] of Object.entries(refusals)) {
    await eventuallyPasses(async () =>
      assert.equal(await bed.condition(bgpPeers, name, 'Accepted'), `False ${reason}`),
    );
    await eventuallyPasses(async () => assert.deepEqual(await bed.eventReasons(name), [reason]));
  }
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpInstances, 'younger', 'Accepted'), 'False Conflicting'),
  );
  await eventuallyPasses(async () => assert.deepEqual(await bed.eventReasons('younger'), ['Conflicting']));
  assert.deepEqual(await counters(tor1), before);
  assert.equal(await bed.condition(bgpInstances, 'rack', 'Ready'), 'True Ready');
  for (const name of Object.keys(refusals)) await bed.kube.delete(bgpPeers, { name });
  await bed.kube.delete(bgpInstances, { name: 'younger' });
});

const passwords = { namespace: 'kube-system', name: 'isthmus-bgp-passwords' };

async function setPasswords(stringData: Record<string, string>): Promise<void> {
  await bed.kube.delete(secrets, passwords);
  await bed.kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: passwords, stringData });
}

test('a session uses the password of a Secret, and problems of the Secret are reported', async () => {
  const [right, wrong] = ['right-5f0c', 'wrong-77aa'];
  const untouched = await counters(tor1);
  const secret = (reason: string) => bed.untilCondition(bgpPeers, 'tor2', 'SecretResolved', reason);
  await tor2.configure('router bgp', `neighbor ${tor2.link.nodeV4} password ${right}`);
  await eventuallyPasses(async () => assert.match(await bed.session('tor2'), /AuthenticationFailed$/));
  const passwordSecretRef = { name: passwords.name, key: 'tor2' };
  await bed.kube.patch(bgpPeers, { name: 'tor2' }, 'merge', { spec: { passwordSecretRef } });
  await secret('False SecretNotFound');
  await setPasswords({ other: right });
  await secret('False SecretKeyNotFound');
  await setPasswords({ tor2: `${right}\n` });
  await secret('False PasswordInvalid');
  await setPasswords({ tor2: wrong });
  await secret('True Resolved');
  await eventuallyPasses(async () => assert.match(await bed.session('tor2'), /AuthenticationFailed$/));
  await setPasswords({ tor2: right });
  await eventuallyPasses(async () => assert.equal(await bed.session('tor2'), 'Established'));
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpPeers, 'tor2', 'Established'), 'True Established'),
  );

  const { established } = await untilQuiet(tor2);
  await bed.kube.delete(secrets, passwords);
  await secret('False SecretNotFound');
  await bed.untilSession('tor2', /^Established SecretNotFound$/);
  await bed.killSpeaker();
  bed.startSpeaker();
  await bed.createSubnet('signed', '10.50.0.0/24', { tier: 'public' });
  await eventuallyPasses(async () => assert.ok('10.50.0.0/24' in (await tor2.routes())));
  await setPasswords({ tor2: right });
  await secret('True Resolved');
  assert.equal((await counters(tor2)).established, established, 'no session was reset');
  assert.equal((await counters(tor1)).established, untouched.established);

  const visible = JSON.stringify([
    await bed.kube.list(bgpPeers),
    await bed.kube.list(events, { namespace: 'default' }),
    bed.logs,
  ]);
  assert.ok(!visible.includes(right) && !visible.includes(wrong), 'a password is visible');
  await bed.kube.patch(bgpPeers, { name: 'tor2' }, 'merge', {
    spec: { passwordSecretRef: { name: 'isthmus-hub-authority', key: 'key' } },
  });
  await secret('False SecretNotReadable');
  await tor2.configure('router bgp', `no neighbor ${tor2.link.nodeV4} password`);
  await bed.kube.patch(bgpPeers, { name: 'tor2' }, 'merge', { spec: { passwordSecretRef: null } });
  await eventuallyPasses(async () => assert.equal(await bed.session('tor2'), 'Established'));
  await bed.kube.delete(subnets, { name: 'signed' });
});

test('TTL security, localASN and passive mode of a peer affect only its session', async () => {
  const untouched = await counters(tor1);
  const set = (spec: object) => bed.patchPeer('tor2', spec);
  const established = (asn: number) =>
    eventuallyPasses(async () => {
      const { state, asn: seen } = await counters(tor2);
      assert.deepEqual([state, seen], ['Established', asn]);
    });
  await set({ ttlSecurityHops: 1 });
  await tor2.configure('router bgp', `neighbor ${tor2.link.nodeV4} ttl-security hops 1`);
  await established(65001);
  await set({ localASN: 65077 });
  await established(65077);
  await set({ passive: true });
  const passive = async () =>
    (await bed.gobgp((gobgp) => gobgp.listPeers())).find(({ config }) => config.address === tor2.link.v4)?.config
      .isPassive;
  await eventuallyPasses(async () => assert.equal(await passive(), true));
  await established(65077);
  await tor2.configure('router bgp', `no neighbor ${tor2.link.nodeV4} ttl-security hops 1`);
  await set({ passive: false, localASN: null, ttlSecurityHops: null });
  await established(65001);
  await eventuallyPasses(async () => assert.equal(await bed.session('tor2'), 'Established'));
  assert.equal((await counters(tor1)).established, untouched.established);
  await assert.rejects(set({ ttlSecurityHops: 1, ebgpMultihopTTL: 2 }), /exclude each other/);
});

test('a changed AS of a BgpInstance reports RestartNeeded until gobgpd restarts', async () => {
  const before = await untilQuiet(tor1);
  await bed.kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { localASN: 65002 } });
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpInstances, 'rack', 'Ready'), 'False RestartNeeded'),
  );
  assert.deepEqual(await counters(tor1), before);
  await bed.lab.gobgpd.restart();
  await eventuallyPasses(async () => assert.equal(await bed.condition(bgpInstances, 'rack', 'Ready'), 'True Ready'));
  assert.equal((await bed.gobgp((gobgp) => gobgp.getBgp()))?.asn, 65002);
  await eventuallyPasses(async () => assert.equal((await counters(tor1)).established, before.established + 1));
  await eventuallyPasses(async () => assert.equal((await bed.status(bgpPeers, 'tor1')).established, '1/1'));
  await untilAllQuiet();
  assert.deepEqual(Object.keys(await tor1.routes()), ['10.20.0.0/24', '10.40.0.0/24']);
});

test('a node that loses its label loses its sessions and its status entries', async () => {
  await bed.kube.patch(nodes, { name: 'n1' }, 'merge', { metadata: { labels: { 'ovn.kubernetes.io/bgp': null } } });
  await untilRoutes(tor1, {});
  await eventuallyPasses(async () => assert.deepEqual((await bed.status(bgpPeers, 'tor1')).nodes ?? [], []));
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpPeers, 'tor1', 'Established'), 'False NoNode'),
  );
  await eventuallyPasses(async () => assert.equal(await bed.condition(bgpInstances, 'rack', 'Ready'), 'False NoNode'));
});
