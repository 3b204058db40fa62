import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interconnectCommunity } from '../../lib/bgp/interconnect-community.ts';
import { eipOf, nodeOf, peerOf, policyOf, serviceOf, subnetOf } from '../../lib/bgp/testing.ts';
import type { ReceivedRoute } from '../model/received.ts';
import type { Observed, ObservedSession } from '../model/observed.ts';
import { type Learned, learnedBefore, type PeerLearned, planLearned } from './learned.ts';
import { planLifelines } from './lifelines.ts';
import { planSpeaker } from './plan.ts';
import { statusOfHits } from './policy-hits.ts';
import { stateOf } from './testing.ts';

const address = '10.0.0.254';
const facts = {
  network: { connected: ['10.0.0.0/24', 'fd00:10::/64'], nextHops: ['10.0.0.250'] },
  apiServers: ['172.20.0.1'],
};
const spec = { direction: 'Import', bgpPeers: ['tor'] };

function stateWith(rules: readonly object[], maxPrefixes = 100) {
  return stateOf({
    nodes: [nodeOf('n1', ['10.0.0.1']), nodeOf('n2', ['10.0.0.2'])],
    peers: [peerOf('tor', address, { import: { vpc: 'ovn-cluster', maxPrefixes } }), peerOf('deaf', '10.0.0.253')],
    subnets: [subnetOf('web', ['10.16.0.0/16']), subnetOf('theirs', ['10.99.0.0/16'], { vpc: 'tenant' })],
    services: [serviceOf('lb', { clusterIps: ['10.97.0.5', 'fd00:97::5'], loadBalancerIps: ['203.0.113.7'] })],
    eips: [eipOf('out', ['203.0.113.80'])],
    remotes: [
      {
        name: 'west',
        labels: {},
        routes: [],
        owned: [
          { prefix: '10.18.0.0/16', transitSwitch: 'ts' },
          { prefix: 'fd00:18::/64', transitSwitch: 'ts' },
          { prefix: '10.98.0.0/16', transitSwitch: 'blue' },
        ],
        gateways: ['172.30.77.1'],
      },
    ],
    transitSwitches: new Map([
      ['ts', { vpc: 'ovn-cluster', prefixes: ['169.100.0.0/22', 'fd00:100::/64'] }],
      ['blue', { vpc: 'tenant', prefixes: [] }],
    ]),
    hubs: new Map([['default', '172.30.88.1']]),
    policies: [policyOf('in', { ...spec, rules })],
  });
}

function observedIn(state: ObservedSession['state']): Observed {
  const session = {
    state,
    received: { ipv4: 0, ipv6: 0 },
    flaps: 0,
    isLost: false,
    isDeferring: false,
    isOverLimit: false,
  };
  return { daemon: { isReachable: true }, sessions: new Map([[address, session]]), refused: new Map() };
}

function learn(
  routes: Readonly<Record<string, Partial<ReceivedRoute>>>,
  state = stateWith([{ match: { prefixes: [{ cidr: '0.0.0.0/0', le: 32 }] } }]),
  session: ObservedSession['state'] = 'Established',
): PeerLearned & Pick<Learned, 'hits'> {
  const full = Object.entries(routes).map(
    ([prefix, route]) => [prefix, { nextHop: address, asPath: [65101], communities: [], ...route }] as const,
  );
  const plan = planSpeaker(state);
  const { peers: learned, hits } = planLearned(
    plan,
    planLifelines(state, plan, facts),
    observedIn(session),
    new Map([[address, new Map(full)]]),
  );
  assert.deepEqual([...learned.keys()], [address], 'only of peers that import');
  const found = learned.get(address);
  assert.ok(found);
  return { ...found, hits };
}

const prefixes = (learned: PeerLearned) => learned.routes.map(({ prefix }) => prefix);

test('a prefix that a rule allows is a route with the rule’s preference and tags, ordered by address', () => {
  const rules = [{ match: { communities: ['65101:1'] }, setPreference: 300, setTags: ['edge'] }];
  const learned = learn(
    {
      '192.0.2.0/24': { communities: ['65101:1'] },
      '20.0.0.0/8': { communities: ['65101:1'] },
      '198.51.100.0/24': { communities: ['65101:2'] },
    },
    stateWith(rules),
  );
  assert.deepEqual(learned.routes[0], {
    prefix: '20.0.0.0/8',
    peer: 'tor',
    nextHop: address,
    asPath: '65101',
    preference: 300,
    vpc: 'ovn-cluster',
    tags: ['edge'],
  });
  assert.deepEqual(prefixes(learned), ['20.0.0.0/8', '192.0.2.0/24']);
  assert.deepEqual(learned.refused, new Map([['Denied', 1]]));
});

test('a prefix that could make traffic of the cluster loop is not used, and is counted by reason', () => {
  const cases: Readonly<Record<string, readonly [prefix: string, route: Partial<ReceivedRoute>]>> = {
    'within a subnet': ['10.16.7.0/24', {}],
    'an address of a node': ['10.0.0.2/32', {}],
    'an EIP, whichever node announces it': ['203.0.113.80/32', {}],
    'our AS on its way': ['192.0.2.0/24', { asPath: [65101, 65001] }],
    'of a cluster with an interconnect': ['192.0.2.0/24', { communities: [interconnectCommunity('west')] }],
    'loopback addresses': ['127.0.0.0/8', {}],
    'no prefix': ['192.0.2.0', {}],
  };
  const reasons = Object.values(cases).map(([prefix, route]) => [...learn({ [prefix]: route }).refused.keys()]);
  assert.deepEqual(reasons.flat(), [
    'OwnPrefix',
    'OwnPrefix',
    'OwnPrefix',
    'Loop',
    'Loop',
    'PrefixInvalid',
    'PrefixInvalid',
  ]);
  assert.deepEqual(prefixes(learn({ '10.99.1.0/24': {} })), ['10.99.1.0/24'], 'other VPCs may have any address');
  assert.deepEqual(prefixes(learn({ '10.98.1.0/24': {} })), ['10.98.1.0/24'], 'also those of other clusters');
});

test('a default route is used only where a rule names prefixes', () => {
  const everything = { '0.0.0.0/0': {} };
  assert.deepEqual(prefixes(learn(everything)), ['0.0.0.0/0']);
  assert.deepEqual(learn(everything, stateWith([{ match: {} }])).refused, new Map([['DefaultRoute', 1]]));
});

test('a lifeline of the node, its peers, control plane, tunnels or Services is refused, and named', () => {
  const everywhere = {
    match: {
      prefixes: [
        { cidr: '0.0.0.0/0', le: 32 },
        { cidr: '::/0', le: 128 },
      ],
    },
  };
  const holders: Readonly<Record<string, string>> = {
    '172.20.0.1/32': 'the API server',
    '172.20.0.0/16': 'the API server',
    '10.0.0.253/32': 'BGP peer deaf',
    '10.0.0.250/32': "next hop of the node's own routes",
    '10.0.0.128/25': "a network on the node's own links",
    'fd00:10::1/128': "a network on the node's own links",
    '10.97.0.5/32': 'Services',
    'fd00:97::5/128': 'Services',
    '203.0.113.7/32': 'Services',
    '10.18.4.0/24': 'cluster west',
    'fd00:18::1/128': 'cluster west',
    '172.30.77.0/24': 'a gateway of cluster west',
    '172.30.88.1/32': 'the hub',
    '169.100.0.0/24': 'transit switch ts',
    'fd00:100::/64': 'transit switch ts',
  };
  for (const [prefix, holder] of Object.entries(holders)) {
    const learned = learn({ [prefix]: {} }, stateWith([everywhere]));
    assert.deepEqual([learned.routes, learned.own], [[], [{ prefix, holder }]], prefix);
  }
  const named = { match: { prefixes: [{ cidr: '172.20.0.0/16' }, { cidr: '172.20.0.1/32' }] } };
  const both = { '172.20.0.0/16': {}, '172.20.0.1/32': {} };
  assert.deepEqual(prefixes(learn(both, stateWith([named]))), ['172.20.0.0/16'], 'a wider one where a rule names it');
  assert.deepEqual(prefixes(learn({ '10.0.0.0/8': {}, '0.0.0.0/0': {} }, stateWith([everywhere]))), [
    '0.0.0.0/0',
    '10.0.0.0/8',
  ]);
});

test('many refused prefixes of the cluster itself are counted, and the first are named', () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`10.16.${20 - at}.0/24`, {}]));
  const learned = learn(many);
  assert.deepEqual(learned.refused, new Map([['OwnPrefix', 20]]));
  assert.deepEqual(learned.own.map(({ prefix }) => prefix).slice(0, 2), ['10.16.1.0/24', '10.16.2.0/24']);
  assert.equal(learned.own.length, 8);
});

test('beyond the limit the lowest prefixes are used, in whatever order they arrive', () => {
  const state = stateWith([{ match: {} }], 2);
  const learned = learn({ '192.0.2.0/24': {}, '20.0.0.0/8': {}, '100.0.0.0/8': {} }, state);
  assert.deepEqual(prefixes(learned), ['20.0.0.0/8', '100.0.0.0/8']);
  assert.deepEqual(learned.refused, new Map([['OverLimit', 1]]));
});

test('the number of prefixes that each rule decided is counted, and kept until the next count', () => {
  const rules = [{ match: { prefixes: [{ cidr: '20.0.0.0/8' }] }, action: 'Deny' }, { match: {} }];
  const state = stateWith(rules);
  const { hits } = learn({ '20.0.0.0/8': {}, '192.0.2.0/24': {}, '10.16.0.0/24': {} }, state);
  assert.deepEqual(
    hits,
    new Map([
      [
        'in',
        new Map([
          [0, 1],
          [1, 2],
        ]),
      ],
    ]),
  );
  const policies = [...statusOfHits(hits), { policy: 'out', rules: [{ index: 0, prefixes: 7 }] }];
  assert.deepEqual(learnedBefore(planSpeaker(state), observedIn('Established'), { policies }, []).hits, hits);
});

test('a session that is down has no routes', () => {
  assert.deepEqual(learn({ '192.0.2.0/24': {} }, undefined, 'Active').routes, []);
});

test('until gobgpd listed all routes, routes reported before stay while the session is up', () => {
  const state = stateWith([]);
  const plan = planSpeaker(state);
  const route = { prefix: '192.0.2.0/24', peer: 'tor', nextHop: address, preference: 100 };
  const peers = [{ peer: 'tor', address, asn: 65000, state: 'Established', notUsed: [{ reason: 'Denied', count: 3 }] }];
  const before = { peers } as unknown as Parameters<typeof learnedBefore>[2];
  assert.deepEqual(
    [...learnedBefore(plan, observedIn('Established'), before, [route]).peers],
    [[address, { routes: [route], refused: new Map([['Denied', 3]]), own: [] }]],
  );
  assert.equal(learnedBefore(plan, observedIn('Active'), before, [route]).peers.size, 0);
});
