import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  advertisementOf,
  eipOf,
  instanceOf,
  nodeOf,
  outside,
  peerOf,
  podOf,
  policyOf,
  readyOn,
  routerPortOf,
  serviceOf,
  subnetOf,
  type TestObjects,
} from '../../../lib/bgp/testing.ts';
import type { Eip, Remote } from '../../../lib/bgp/objects.ts';
import type { BgpReading } from '../../model/bgp.ts';
import { nodeStates, objects, readingOf } from '../../testing-bgp.ts';
import { findTarget } from './question.ts';
import { explain, type Why } from './why.ts';

const n1tor1 = { node: 'n1', peer: 'tor1' };

function why(reading: BgpReading, text: string, filter: { node?: string; peer?: string } = {}): Why {
  const target = findTarget(reading.state, text);
  assert.ok(target, text);
  return explain(reading, target, { node: filter.node, peer: filter.peer });
}

/** The obstacles for one session. */
function codes(changed: TestObjects, text: string, session = n1tor1): string[] {
  const { answers } = why(readingOf(changed), text, session);
  assert.ok(answers.every(({ state }) => state !== 'Announced'));
  return [...new Set(answers.flatMap(({ obstacles }) => obstacles.map(({ code }) => code)))];
}

const eip = eipOf('out', ['203.0.113.9'], { annotation: { scope: 'cluster' } });
const eipsOf = (more: Partial<Eip> = {}, ...nodes: readonly string[]): TestObjects => ({
  eips: [{ ...eip, ...more }, routerPortOf(...nodes)],
  subnets: [outside],
});
const remote = (origin: string, prefix: string): Remote => ({
  name: 'west',
  labels: {},
  routes: [
    { prefix, origin, tags: [] },
    { prefix: '10.50.0.0/16', origin: 'subnet', tags: [] },
  ],
});
const limited = [instanceOf('rack', { ownedPrefixes: ['192.0.2.0/24'] })];
const lb = (more: object, services = [serviceOf('lb', more)]): TestObjects => ({
  services,
  endpoints: {},
  advertisements: [advertisementOf('lb', { source: 'Service', serviceAddresses: ['ExternalIP', 'LoadBalancerIP'] })],
});
const pods = [advertisementOf('pods', { source: 'Pod' })];
const west = [advertisementOf('west', { source: 'Interconnect' })];

const refusals: Readonly<Record<string, readonly [TestObjects, string]>> = {
  AddressInvalid: [
    { ...eipsOf({ ips: ['224.0.0.9'] }, 'n1'), subnets: [subnetOf('external', ['224.0.0.0/4'], { isPhysical: true })] },
    'eip/out',
  ],
  NotOwned: [{ instances: limited, ...eipsOf({}, 'n1') }, 'eip/out'],
  NotReady: [eipsOf({ isReady: false }), 'ovn-eip/out'],
  NotUsed: [eipsOf({ gatewayPort: '' }, 'n1'), 'ovn-eip/out'],
  GatewayPending: [eipsOf(), 'eip/out'],
  NoRouterAddress: [{ eips: [eip] }, 'eip/out'],
  RouterAddress: [{ eips: [{ ...routerPortOf('n1'), annotation: { scope: 'local' } }] }, 'eip/blue-external'],
  NoExternalSubnet: [{ ...eipsOf({}, 'n1'), subnets: [] }, 'eip/out'],
  AnnotationInvalid: [{ eips: [{ ...eip, annotation: { scope: 'invalid', text: 'all' } }] }, '203.0.113.9'],
  PodFinished: [{ advertisements: pods, pods: [podOf('web', ['10.16.0.7'], { isAlive: false })] }, 'default/web'],
  VpcNotRouted: [
    {
      advertisements: pods,
      subnets: [subnetOf('web', ['10.16.0.0/16'], { vpc: 'tenant' })],
      pods: [podOf('web', ['10.16.0.7'])],
    },
    'pod/web',
  ],
  Underlay: [
    {
      advertisements: pods,
      subnets: [subnetOf('web', ['10.16.0.0/16'], { isPhysical: true })],
      pods: [podOf('web', ['10.16.0.7'])],
    },
    'pod/web',
  ],
  NoSpeaker: [{ advertisements: pods, pods: [podOf('web', ['10.16.0.7'], { node: 'n3' })] }, 'po/web'],
  NoAddress: [lb({}), 'svc/lb'],
  NotTaken: [lb({ clusterIps: ['10.96.0.5'] }), 'svc/lb'],
  NoEndpoint: [lb({ loadBalancerIps: ['192.0.2.1'] }), '192.0.2.1'],
  AddressInUse: [
    { ...lb({ type: 'ClusterIP', externalIps: ['10.16.0.7'] }), endpoints: { 'default/lb': readyOn('n1') } },
    'service/lb',
  ],
  SubnetNotReady: [{ subnets: [subnetOf('web', [], { labels: { tier: 'web' } })] }, 'subnet/web'],
  JoinSubnet: [{ subnets: [subnetOf('join', ['100.64.0.0/16'], { labels: { tier: 'web' } })] }, '100.64.0.0/16'],
  PrefixInvalid: [{ advertisements: west, remotes: [remote('subnet', '127.0.0.0/8')] }, '127.0.0.0/8'],
  LearnedByBgp: [{ advertisements: west, remotes: [remote('bgp', '10.60.0.0/16')] }, '10.60.0.0/16'],
};

for (const [code, [changed, text]] of Object.entries(refusals))
  test(`${code} is reported`, () => assert.deepEqual(codes(changed, text), [code]));

test('the refusal of one prefix does not affect the other prefixes', () => {
  const reading = readingOf({ advertisements: west, remotes: [remote('bgp', '10.60.0.0/16')] });
  const { answers } = why(reading, 'remotecluster/west', n1tor1);
  assert.deepEqual(
    answers.map(({ prefix, state, obstacles }) => [prefix, state, obstacles.length]),
    [
      ['10.60.0.0/16', 'NotAnnounced', 1],
      ['10.50.0.0/16', 'Announced', 0],
    ],
  );
});

test('an aggregate that the cluster does not own is reported, and the address is announced', () => {
  const advertisements = [advertisementOf('wide', { source: 'Pod', aggregation: { ipv4Length: 8 } })];
  const { answers, objects: about } = why(readingOf({ advertisements }), 'pod/web', n1tor1);
  assert.equal(answers[0]?.as, '10.16.0.7/32');
  assert.deepEqual(
    about[0]?.refusals.map(({ code }) => code),
    ['AggregateNotOwned'],
  );
});

const obstacles: Readonly<Record<string, readonly [TestObjects, string, { node: string; peer: string }?]>> = {
  NoObject: [{}, '10.99.0.0/24'],
  NoAdvertisement: [{ advertisements: [] }, 'pod/web'],
  NotSelected: [{ advertisements: [advertisementOf('a', { selector: { matchLabels: { x: 'y' } } })] }, 'subnet/web'],
  NamespaceNotSelected: [
    { advertisements: [advertisementOf('a', { source: 'Pod', namespaceSelector: { matchLabels: { team: 'b' } } })] },
    'pod/web',
  ],
  NotTaken: [{}, '10.96.0.5/32'],
  NodeNotSelected: [{}, 'pod/db'],
  OtherNode: [{}, 'pod/web', { node: 'n2', peer: 'tor1' }],
  NoEndpointHere: [{}, '192.0.2.1', { node: 'n2', peer: 'tor1' }],
  AdvertisementNotSelected: [{}, '10.16.0.7/32', { node: 'n1', peer: 'tor2' }],
  PeerNotListed: [{}, '192.0.2.1'],
  FamilyNotOnSession: [{}, 'fd00:16::/64', { node: 'n1', peer: 'tor2' }],
  HoldTimerExpired: [{}, '10.16.0.0/16', { node: 'n2', peer: 'tor2' }],
  NoInstance: [{}, 'subnet/web', { node: 'n3', peer: 'tor1' }],
  NoRouterID: [{ nodes: [nodeOf('n1', ['fd00::1'])] }, 'subnet/web'],
  DuplicateAddress: [
    { peers: [...objects.peers, peerOf('twin', '10.0.0.254', {}, '2024-02-01T00:00:00Z')] },
    'subnet/web',
    { node: 'n1', peer: 'twin' },
  ],
  UnknownInstance: [{ peers: [peerOf('tor1', '10.0.0.254', { instance: 'gone' })] }, 'subnet/web'],
  PeerNotOnNode: [
    { peers: [peerOf('tor1', '10.0.0.254', { nodeSelector: { matchLabels: { rack: 'b' } } })] },
    'subnet/web',
  ],
  OtherInstance: [
    {
      peers: [peerOf('tor1', '10.0.0.254', { instance: 'second' })],
      instances: [instanceOf('rack'), instanceOf('second', {}, '2024-02-01T00:00:00Z')],
    },
    'subnet/web',
  ],
  NotReported: [{ peers: [peerOf('new', '10.0.0.7')] }, 'subnet/web', { node: 'n1', peer: 'new' }],
};

for (const [code, [changed, text, session]] of Object.entries(obstacles))
  test(`${code} is reported`, () => assert.ok(codes(changed, text, session).includes(code)));

test('a prefix that a policy denies to a peer is reported with the policy and its rule; other peers and prefixes stay the same', () => {
  const rules = [
    { match: { sources: ['Service'] } },
    { match: { prefixes: [{ cidr: '10.16.0.0/16', ge: 32 }] }, action: 'Deny' },
  ];
  const hosts = policyOf('no-hosts', { direction: 'Export', bgpPeers: ['tor1'], rules });
  const advertisements = [advertisementOf('pods', { source: 'Pod' }), advertisementOf('subnets')];
  const reading = readingOf({
    advertisements,
    policies: [hosts],
    peers: [peerOf('tor1', '10.0.0.254'), peerOf('free', '10.0.0.253')],
  });
  const [answer] = why(reading, 'pod/web', n1tor1).answers;
  assert.deepEqual([answer?.state, answer?.as], ['Covered', '10.16.0.0/16']);
  assert.deepEqual(answer?.obstacles, [
    { code: 'Denied', message: 'rules[1] of RoutePolicy no-hosts denies it to tor1' },
  ]);
  assert.equal(why(reading, 'subnet/web', n1tor1).answers[0]?.state, 'Announced');
  const free = why(reading, 'pod/web', { node: 'n1', peer: 'free' }).answers[0];
  assert.deepEqual([...new Set(free?.obstacles.map(({ code }) => code))], ['NotReported']);
});

test('a policy that denies by default is named by its defaultAction; a policy that is not evaluated is not named', () => {
  const rest = policyOf('services-only', {
    direction: 'Export',
    bgpPeers: ['tor1', 'tor2'],
    rules: [{ match: { sources: ['Service'] } }],
    defaultAction: 'Deny',
  });
  const obstaclesAt = (text: string, peer: string) =>
    why(readingOf({ policies: [rest] }), text, { node: 'n1', peer }).answers[0]?.obstacles ?? [];
  assert.deepEqual(obstaclesAt('subnet/web', 'tor1'), [
    { code: 'Denied', message: 'defaultAction of RoutePolicy services-only denies it to tor1' },
  ]);
  assert.deepEqual(obstaclesAt('192.0.2.1', 'tor2'), []);
  // No advertisement announces it there, whatever the policy would decide.
  assert.deepEqual(
    obstaclesAt('10.16.0.7/32', 'tor2').map(({ code }) => code),
    ['AdvertisementNotSelected'],
  );
});

test('a drained node announces nothing; a leaving node announces with the graceful shutdown community', () => {
  const drained = (drain: 'Leaving' | 'Drained') =>
    why(readingOf({}, { ...nodeStates, n1: { ...nodeStates['n1'], drain } }), '10.16.0.0/16', n1tor1).answers[0];
  assert.deepEqual(
    drained('Drained')?.obstacles.map(({ code }) => code),
    ['Drained'],
  );
  assert.deepEqual(drained('Leaving')?.attributes?.communities, ['65535:0']);
  const [node, ...others] = objects.nodes;
  assert.ok(node);
  const wished = readingOf({ nodes: [{ ...node, isDrained: true }, ...others] }, {});
  assert.deepEqual(
    why(wished, '10.16.0.0/16', n1tor1).answers[0]?.obstacles.map(({ code }) => code),
    ['Drained', 'NoSpeaker'],
  );
});

test('the state of a node that is silent to Kubernetes does not count', () => {
  const [node, ...others] = objects.nodes;
  assert.ok(node);
  const answer = why(readingOf({ nodes: [{ ...node, isSilent: true }, ...others] }), '10.16.0.0/16', n1tor1).answers[0];
  assert.equal(answer?.state, 'NotAnnounced');
  assert.deepEqual(
    answer.obstacles.map(({ code }) => code),
    ['NodeSilent'],
  );
});

test('a missing instance is reported once', () => {
  const { answers, isAnnounced } = why(readingOf({ instances: [] }), 'subnet/web');
  assert.equal(isAnnounced, false);
  assert.deepEqual([...new Set(answers.flatMap(({ obstacles: all }) => all.map(({ code }) => code)))], ['NoInstance']);
});

test('an address is announced by the prefix that contains it; a prefix or an object only by itself', () => {
  const at = (text: string) => why(readingOf(), text, n1tor1);
  assert.deepEqual([at('10.16.0.8').isAnnounced, at('10.16.0.8').answers[0]?.as], [true, '10.16.0.0/16']);
  assert.deepEqual([at('10.16.0.8/32').isAnnounced, at('10.16.0.8/32').answers[0]?.state], [false, 'Covered']);
  assert.deepEqual([at('pod/sick').isAnnounced, at('pod/sick').answers[0]?.state], [false, 'Covered']);
  const aggregate = why(readingOf(), 'pod/db', { node: 'n2', peer: 'tor1' }).answers[0];
  assert.deepEqual([aggregate?.state, aggregate?.as], ['Announced', '10.16.1.0/26']);
  assert.equal(at('10.16.1.0/26').answers[0]?.state, 'Covered');
});

test('objects are found by the names that kubectl accepts', () => {
  const { state } = readingOf({ eips: [eip] });
  const found = (text: string) => findTarget(state, text)?.name;
  assert.equal(found('pods/default/web'), 'pod/default/web');
  assert.equal(found('po/web'), 'pod/default/web');
  assert.equal(found('other/other'), 'pod/other/other');
  assert.equal(found('default/lb'), 'service/default/lb');
  assert.equal(found('web'), 'subnet/web, pod/default/web');
  assert.equal(found('eip/out'), 'ovn-eip/out');
  assert.equal(found('iptables-eip/out'), undefined);
  assert.equal(found('subnet/a/b'), undefined);
  assert.equal(found('010.1.1.1'), undefined);
  assert.equal(found('FD00:16:0::7'), 'fd00:16::7');
});
