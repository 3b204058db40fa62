/** The speaker against a real API server, gobgpd and two FRR routers: objects in, routes at the routers and statuses out. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { customResourceDefinition } from '../../lib/api/generate/crd.ts';
import { annotation } from '../../lib/api/names.ts';
import { allKinds } from '../../lib/api/kinds/all.ts';
import { openGobgp } from '../../lib/gobgp/src/index.ts';
import { gobgpdBinaries, startGobgpd, type TestGobgpd } from '../../lib/gobgp/src/testing.ts';
import { openKube } from '../../lib/kube/client.ts';
import {
  apiVersionOf,
  bgpAdvertisements,
  bgpInstances,
  bgpPeers,
  events,
  nodes,
  secrets,
  subnets,
} from '../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import {
  type BgpLab,
  configure,
  end,
  eventually,
  neighborOf,
  type NeighborCounters,
  openBgpLab,
  routesOf,
} from './bgp-lab.ts';

const repository = join(import.meta.dirname, '../..');

let server: TestApiServer;
let kube: KubeClient;
let lab: BgpLab;
let gobgpd: TestGobgpd;
let speaker: ChildProcess;
/** Somebody who stays in the node's network namespace, whoever else comes and goes there. */
let resident: ChildProcess;
/** What speakers said. */
const logs: string[][] = [];

before(async () => {
  const [binary] = gobgpdBinaries();
  assert.ok(binary);
  lab = await openBgpLab();
  resident = spawn('ip', ['netns', 'exec', lab.nodeNetns, 'sleep', 'infinity'], { stdio: 'ignore' });
  gobgpd = await startGobgpd(binary, ['ip', 'netns', 'exec', lab.nodeNetns]);
  server = await startApiServer();
  kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
  for (const kind of allKinds) {
    const crd = customResourceDefinition(kind);
    await kube.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  }
  for (const resource of [bgpAdvertisements, bgpInstances, bgpPeers, subnets])
    await eventually(() => kube.list(resource));
  await createNode('n1', lab.routers[0].nodeV4, { 'ovn.kubernetes.io/bgp': 'true' });
  await createNode('n2', '172.31.9.12', {});
  speaker = startSpeaker();
});

after(async () => {
  if (speaker) await end(speaker);
  await gobgpd?.stop();
  if (resident) await end(resident);
  await lab?.close();
  await kube?.close();
  await server?.stop();
});

function startSpeaker(): ChildProcess {
  const flags = [
    '--kubeconfig',
    server.kubeconfig,
    '--node',
    'n1',
    '--gobgpd',
    gobgpd.target,
    '--namespace',
    'kube-system',
    '--password-secrets',
    'isthmus-bgp-passwords',
    '--netstat',
    `/proc/${String(resident.pid)}/net/netstat`,
    '--metrics-address',
    '127.0.0.1:0',
  ];
  const child = spawn(process.execPath, [join(repository, 'speaker/main.ts'), ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: string[] = [];
  logs.push(lines);
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text));
  child.once('exit', (code) => {
    if (code !== null) process.stderr.write(`the speaker ended with ${code}:\n${lines.join('')}`);
  });
  return child;
}

async function create(
  resource: Resource,
  name: string,
  spec: object,
  labels: Record<string, string> = {},
): Promise<void> {
  await kube.create(resource, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, labels },
    spec,
  });
}

async function createNode(name: string, address: string, labels: Record<string, string>): Promise<void> {
  await create(nodes, name, {}, labels);
  const status = { addresses: [{ type: 'InternalIP', address }] };
  await kube.patch(nodes, { name }, 'merge', { status }, { subresource: 'status' });
}

/** As the controller notes it. */
async function accept(name: string, cidrBlock: string): Promise<void> {
  const annotations = { [annotation.accepted]: `${cidrBlock} ${cidrBlock.replace(/[^.:]+\/.*/, '1')}` };
  await kube.patch(subnets, { name }, 'merge', { metadata: { annotations } });
}

async function createSubnet(
  name: string,
  cidrBlock: string,
  labels: Record<string, string>,
  isAccepted = true,
): Promise<void> {
  await create(subnets, name, { cidrBlock, vpc: 'ovn-cluster' }, labels);
  if (isAccepted) await accept(name, cidrBlock);
}

interface Status {
  readonly established?: string;
  readonly prefixes?: string[];
  readonly nodes?: {
    readonly node: string;
    readonly state?: string;
    readonly reason?: string;
    readonly advertised?: number;
  }[];
  readonly conditions?: {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

async function statusOf(resource: Resource, name: string): Promise<Status> {
  const { status = {} } = (await kube.get(resource, { name })) as { status?: Status };
  return status;
}

/** `True Reason` of a condition. */
async function conditionOf(resource: Resource, name: string, type: string): Promise<string> {
  const found = (await statusOf(resource, name)).conditions?.find((condition) => condition.type === type);
  return `${found?.status} ${found?.reason}`;
}

async function eventReasons(name: string): Promise<string[]> {
  const all = await kube.list(events, { namespace: 'default' });
  return all
    .filter((event) => (event['involvedObject'] as { name: string }).name === name)
    .map((event) => String(event['reason']));
}

/** What the routers counted about their sessions with the node. */
function sessions(): NeighborCounters[] {
  const [tor1, tor2] = lab.routers;
  return [neighborOf(tor1, tor1.nodeV4), neighborOf(tor1, tor1.nodeV6), neighborOf(tor2, tor2.nodeV4)];
}

async function untilSettled(): Promise<void> {
  await eventually(() => assert.ok(sessions().every(({ state, isSettled }) => state === 'Established' && isSettled)));
}

async function versions(): Promise<string[]> {
  const objects = await Promise.all([bgpInstances, bgpPeers, bgpAdvertisements].map((resource) => kube.list(resource)));
  return objects
    .flat()
    .map(({ kind = '', metadata }: RawObject) => `${kind}/${metadata.name} ${metadata.resourceVersion}`);
}

test('subnets reach the routers that select them, each with the next hop of its own link', async () => {
  const [tor1, tor2] = lab.routers;
  await create(bgpInstances, 'rack', { localASN: 65001 });
  await create(bgpAdvertisements, 'all', { source: 'Subnet' }, { scope: 'all' });
  await create(
    bgpAdvertisements,
    'public',
    { source: 'Subnet', selector: { matchLabels: { tier: 'public' } } },
    { scope: 'public' },
  );
  const timers = { holdTimeSeconds: 9, keepaliveSeconds: 3 };
  await create(bgpPeers, 'tor1', { instance: 'rack', address: tor1.v4, asn: 65101, ...timers });
  await create(bgpPeers, 'tor1-v6', { instance: 'rack', address: tor1.v6, asn: 65101, ...timers });
  await create(bgpPeers, 'tor2', {
    instance: 'rack',
    address: tor2.v4,
    asn: 65102,
    advertisements: { matchLabels: { scope: 'public' } },
    ...timers,
  });
  await createSubnet('ovn-default', '10.16.0.0/16,fd00:10:16::/64', {});
  await createSubnet('web', '10.20.0.0/24', { tier: 'public' });
  await createSubnet('join', '100.64.0.0/16', { tier: 'public' });
  await createSubnet('broken', '10.30.0.0/24', { tier: 'public' }, false);

  await eventually(() =>
    assert.deepEqual(routesOf(tor1), { '10.16.0.0/16': [tor1.nodeV4], '10.20.0.0/24': [tor1.nodeV4] }),
  );
  await eventually(() => assert.deepEqual(routesOf(tor2), { '10.20.0.0/24': [tor2.nodeV4] }));
  await eventually(() => assert.deepEqual(routesOf(tor1, 'ipv6'), { 'fd00:10:16::/64': [tor1.nodeV6] }));
  await untilSettled();
});

test('statuses say what is so', async () => {
  await eventually(async () => assert.equal((await statusOf(bgpPeers, 'tor1')).established, '1/1'));
  await eventually(async () => assert.equal((await statusOf(bgpPeers, 'tor1')).nodes?.[0]?.advertised, 2));
  assert.equal(await conditionOf(bgpPeers, 'tor1', 'Accepted'), 'True Accepted');
  assert.equal(await conditionOf(bgpPeers, 'tor1', 'Established'), 'True Established');
  assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'True Ready');
  assert.deepEqual((await statusOf(bgpAdvertisements, 'public')).prefixes, ['10.20.0.0/24']);
  assert.deepEqual((await statusOf(bgpAdvertisements, 'all')).prefixes, [
    '10.16.0.0/16',
    '10.20.0.0/24',
    'fd00:10:16::/64',
  ]);
  await eventually(async () => assert.ok((await eventReasons('tor1')).includes('SessionEstablished')));
});

test('nothing of a neighbour is imported', async () => {
  const gobgp = await openGobgp({ target: gobgpd.target });
  const received = () => gobgp.listPaths('ipv4-unicast', { table: 'adj-in', peer: lab.routers[0].v4 });
  // FRR lets a second pass before it sends its own routes.
  await eventually(async () => assert.ok((await received()).some(({ prefix }) => prefix === '192.0.2.0/24')));
  assert.ok((await gobgp.listPaths('ipv4-unicast')).every(({ isLocal }) => isLocal));
  gobgp.close();
});

test('a subnet that is accepted is announced; a deleted one, or a changed label, takes only its own route away', async () => {
  const [tor1, tor2] = lab.routers;
  await accept('broken', '10.30.0.0/24');
  await eventually(() => assert.deepEqual(Object.keys(routesOf(tor2)), ['10.20.0.0/24', '10.30.0.0/24']));
  await kube.delete(subnets, { name: 'broken' });
  await eventually(() => assert.deepEqual(Object.keys(routesOf(tor2)), ['10.20.0.0/24']));
  await eventually(() => assert.deepEqual(Object.keys(routesOf(tor1)), ['10.16.0.0/16', '10.20.0.0/24']));
  await kube.patch(subnets, { name: 'web' }, 'merge', { metadata: { labels: { tier: 'private' } } });
  await eventually(() => assert.deepEqual(routesOf(tor2), {}));
  assert.ok('10.20.0.0/24' in routesOf(tor1));
  await kube.patch(subnets, { name: 'web' }, 'merge', { metadata: { labels: { tier: 'public' } } });
  await eventually(() => assert.deepEqual(Object.keys(routesOf(tor2)), ['10.20.0.0/24']));
});

test('a speaker that is killed and started again sends no UPDATE and writes nothing', async () => {
  await sleep(500);
  const [before, written] = [sessions(), await versions()];
  await end(speaker);
  speaker = startSpeaker();
  await sleep(3000);
  assert.deepEqual(sessions(), before);
  assert.ok(before.every(({ state }) => state === 'Established'));
  assert.deepEqual(await versions(), written);
});

test('while the speaker is down changes wait, and only they are made then', async () => {
  const [tor1, tor2] = lab.routers;
  await end(speaker);
  const before = neighborOf(tor2, tor2.nodeV4);
  await createSubnet('late', '10.40.0.0/24', {});
  speaker = startSpeaker();
  await eventually(() => assert.ok('10.40.0.0/24' in routesOf(tor1)));
  assert.deepEqual(neighborOf(tor2, tor2.nodeV4), before);
  await end(speaker);
  await kube.delete(subnets, { name: 'ovn-default' });
  speaker = startSpeaker();
  await eventually(() => assert.deepEqual(Object.keys(routesOf(tor1)), ['10.20.0.0/24', '10.40.0.0/24']));
  assert.deepEqual(Object.keys(routesOf(tor2)), ['10.20.0.0/24']);
});

test('a gobgpd that is killed comes back by itself, and the routers keep the routes meanwhile', async () => {
  const [tor1] = lab.routers;
  const { established } = neighborOf(tor1, tor1.nodeV4);
  await gobgpd.kill();
  await eventually(async () => assert.equal((await statusOf(bgpPeers, 'tor1')).nodes?.[0]?.state, 'Unreachable'));
  assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'False DaemonUnreachable');
  const missing: number[] = [];
  const watching = new AbortController();
  const watched = (async () => {
    while (!watching.signal.aborted) {
      if (!('10.20.0.0/24' in routesOf(tor1))) missing.push(performance.now());
      await sleep(5);
    }
  })();
  await gobgpd.restart();
  await eventually(() => assert.equal(neighborOf(tor1, tor1.nodeV4).established, established + 1));
  await eventually(async () => assert.equal((await statusOf(bgpPeers, 'tor1')).established, '1/1'));
  await untilSettled();
  watching.abort();
  await watched;
  assert.deepEqual(missing, []);
  assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'True Ready');
  assert.ok((await eventReasons('tor1')).includes('SessionLost'));
});

test('bad objects are refused with a reason and an event, and the others go on', async () => {
  const [tor1] = lab.routers;
  const before = neighborOf(tor1, tor1.nodeV4);
  await create(bgpPeers, 'twin', { instance: 'rack', address: tor1.v4, asn: 65999 });
  await create(bgpPeers, 'self', { instance: 'rack', address: tor1.nodeV4, asn: 65001 });
  await create(bgpPeers, 'nothing', { instance: 'rack', address: '0.0.0.0', asn: 65001 });
  await create(bgpPeers, 'stray', { instance: 'nowhere', address: '192.0.2.9', asn: 65001 });
  await create(bgpInstances, 'younger', { localASN: 65077 });
  const refusals = {
    twin: 'DuplicateAddress',
    self: 'OwnAddress',
    nothing: 'InvalidAddress',
    stray: 'UnknownInstance',
  };
  for (const [name, reason] of Object.entries(refusals)) {
    await eventually(async () => assert.equal(await conditionOf(bgpPeers, name, 'Accepted'), `False ${reason}`));
    await eventually(async () => assert.deepEqual(await eventReasons(name), [reason]));
  }
  await eventually(async () =>
    assert.equal(await conditionOf(bgpInstances, 'younger', 'Accepted'), 'False Conflicting'),
  );
  await eventually(async () => assert.deepEqual(await eventReasons('younger'), ['Conflicting']));
  assert.deepEqual(neighborOf(tor1, tor1.nodeV4), before);
  assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'True Ready');
  for (const name of Object.keys(refusals)) await kube.delete(bgpPeers, { name });
  await kube.delete(bgpInstances, { name: 'younger' });
});

const passwords = { namespace: 'kube-system', name: 'isthmus-bgp-passwords' };

async function setPasswords(stringData: Record<string, string>): Promise<void> {
  await kube.delete(secrets, passwords);
  await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: passwords, stringData });
}

/** State and reason of n1's session. */
async function sessionOf(peer: string): Promise<string> {
  const entry = (await statusOf(bgpPeers, peer)).nodes?.find(({ node }) => node === 'n1');
  return [entry?.state, entry?.reason].filter(Boolean).join(' ');
}

test('a password comes from a Secret; what is wrong with it is said, and no session begins without', async () => {
  const [tor1, tor2] = lab.routers;
  const [right, wrong] = ['right-5f0c', 'wrong-77aa'];
  const untouched = neighborOf(tor1, tor1.nodeV4);
  const secret = (reason: string) =>
    eventually(async () => assert.equal(await conditionOf(bgpPeers, 'tor2', 'SecretResolved'), reason));
  configure(tor2, 'router bgp', `neighbor ${tor2.nodeV4} password ${right}`);
  await eventually(async () => assert.match(await sessionOf('tor2'), /AuthenticationFailed$/));
  const passwordSecretRef = { name: passwords.name, key: 'tor2' };
  await kube.patch(bgpPeers, { name: 'tor2' }, 'merge', { spec: { passwordSecretRef } });
  await secret('False SecretNotFound');
  await setPasswords({ other: right });
  await secret('False SecretKeyNotFound');
  await setPasswords({ tor2: `${right}\n` });
  await secret('False PasswordInvalid');
  await setPasswords({ tor2: wrong });
  await secret('True Resolved');
  await eventually(async () => assert.match(await sessionOf('tor2'), /AuthenticationFailed$/));
  await setPasswords({ tor2: right });
  await eventually(async () => assert.equal(await sessionOf('tor2'), 'Established'));
  assert.equal(await conditionOf(bgpPeers, 'tor2', 'Established'), 'True Established');

  const { established } = neighborOf(tor2, tor2.nodeV4);
  await kube.delete(secrets, passwords);
  await secret('False SecretNotFound');
  assert.equal(await sessionOf('tor2'), 'Established SecretNotFound');
  await end(speaker);
  speaker = startSpeaker();
  await createSubnet('signed', '10.50.0.0/24', { tier: 'public' });
  await eventually(() => assert.ok('10.50.0.0/24' in routesOf(tor2)));
  await setPasswords({ tor2: right });
  await secret('True Resolved');
  assert.equal(neighborOf(tor2, tor2.nodeV4).established, established, 'no session was reset');
  assert.equal(neighborOf(tor1, tor1.nodeV4).established, untouched.established);

  const told = JSON.stringify([await kube.list(bgpPeers), await kube.list(events, { namespace: 'default' }), logs]);
  assert.ok(!told.includes(right) && !told.includes(wrong), 'a password was told');
  await kube.patch(bgpPeers, { name: 'tor2' }, 'merge', {
    spec: { passwordSecretRef: { name: 'isthmus-hub-authority', key: 'key' } },
  });
  await secret('False SecretNotReadable');
  configure(tor2, 'router bgp', `no neighbor ${tor2.nodeV4} password`);
  await kube.patch(bgpPeers, { name: 'tor2' }, 'merge', { spec: { passwordSecretRef: null } });
  await eventually(async () => assert.equal(await sessionOf('tor2'), 'Established'));
  await kube.delete(subnets, { name: 'signed' });
});

test('TTL security, an AS of its own and a passive side concern the one session', async () => {
  const [tor1, tor2] = lab.routers;
  const untouched = neighborOf(tor1, tor1.nodeV4);
  const set = (spec: object) => kube.patch(bgpPeers, { name: 'tor2' }, 'merge', { spec });
  const established = (asn: number) =>
    eventually(() => {
      const { state, asn: seen } = neighborOf(tor2, tor2.nodeV4);
      assert.deepEqual([state, seen], ['Established', asn]);
    });
  await set({ ttlSecurityHops: 1 });
  configure(tor2, 'router bgp', `neighbor ${tor2.nodeV4} ttl-security hops 1`);
  await established(65001);
  await set({ localASN: 65077 });
  await established(65077);
  await set({ passive: true });
  const gobgp = await openGobgp({ target: gobgpd.target });
  const passive = async () =>
    (await gobgp.listPeers()).find(({ config }) => config.address === tor2.v4)?.config.isPassive;
  await eventually(async () => assert.equal(await passive(), true));
  gobgp.close();
  await established(65077);
  configure(tor2, 'router bgp', `no neighbor ${tor2.nodeV4} ttl-security hops 1`);
  await set({ passive: false, localASN: null, ttlSecurityHops: null });
  await established(65001);
  await eventually(async () => assert.equal(await sessionOf('tor2'), 'Established'));
  assert.equal(neighborOf(tor1, tor1.nodeV4).established, untouched.established);
  await assert.rejects(set({ ttlSecurityHops: 1, ebgpMultihopTTL: 2 }), /exclude each other/);
});

test('another AS waits for a new gobgpd and says so', async () => {
  const [tor1] = lab.routers;
  const before = neighborOf(tor1, tor1.nodeV4);
  await kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { localASN: 65002 } });
  await eventually(async () => assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'False RestartNeeded'));
  assert.deepEqual(neighborOf(tor1, tor1.nodeV4), before);
  await gobgpd.restart();
  await eventually(async () => assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'True Ready'));
  const gobgp = await openGobgp({ target: gobgpd.target });
  assert.equal((await gobgp.getBgp())?.asn, 65002);
  gobgp.close();
  await eventually(() => assert.equal(neighborOf(tor1, tor1.nodeV4).established, before.established + 1));
  await eventually(async () => assert.equal((await statusOf(bgpPeers, 'tor1')).established, '1/1'));
  await untilSettled();
  assert.deepEqual(Object.keys(routesOf(tor1)), ['10.20.0.0/24', '10.40.0.0/24']);
});

test('a node that loses its label loses its sessions, and its entries go', async () => {
  const [tor1] = lab.routers;
  await kube.patch(nodes, { name: 'n1' }, 'merge', { metadata: { labels: { 'ovn.kubernetes.io/bgp': null } } });
  await eventually(() => assert.deepEqual(routesOf(tor1), {}));
  await eventually(async () => assert.deepEqual((await statusOf(bgpPeers, 'tor1')).nodes ?? [], []));
  await eventually(async () => assert.equal(await conditionOf(bgpPeers, 'tor1', 'Established'), 'False NoNode'));
  await eventually(async () => assert.equal(await conditionOf(bgpInstances, 'rack', 'Ready'), 'False NoNode'));
});
