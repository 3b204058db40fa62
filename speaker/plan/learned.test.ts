import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interconnectCommunity } from '../../lib/bgp/interconnect-community.ts';
import { nodeOf, peerOf, policyOf, subnetOf } from '../../lib/bgp/testing.ts';
import type { ReceivedRoute } from '../state/learned.ts';
import type { Observed, ObservedSession } from '../state/observed.ts';
import { type Learned, learnedBefore, type PeerLearned, planLearned } from './learned.ts';
import { planSpeaker } from './plan.ts';
import { statusOfHits } from './policy-hits.ts';
import { stateOf } from './testing.ts';

const address = '10.0.0.254';
const spec = { direction: 'Import', bgpPeers: ['tor'] };

function stateWith(rules: readonly object[], maxPrefixes = 100) {
  return stateOf({
    nodes: [nodeOf('n1', ['10.0.0.1']), nodeOf('n2', ['10.0.0.2'])],
    peers: [peerOf('tor', address, { import: { vpc: 'ovn-cluster', maxPrefixes } }), peerOf('deaf', '10.0.0.253')],
    subnets: [subnetOf('web', ['10.16.0.0/16']), subnetOf('theirs', ['10.99.0.0/16'], { vpc: 'tenant' })],
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
  const { peers: learned, hits } = planLearned(state, plan, observedIn(session), new Map([[address, new Map(full)]]));
  assert.deepEqual([...learned.keys()], [address], 'only of peers that import');
  const found = learned.get(address);
  assert.ok(found);
  return { ...found, hits };
}

const prefixes = (learned: PeerLearned) => learned.routes.map(({ prefix }) => prefix);

test('what a rule allows is a route, with the rule’s preference and tags, ordered by address', () => {
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

test('what could lead traffic of the cluster in circles is not used, and why is counted', () => {
  const cases: Readonly<Record<string, readonly [prefix: string, route: Partial<ReceivedRoute>]>> = {
    'within a subnet': ['10.16.7.0/24', {}],
    'an address of a node': ['10.0.0.2/32', {}],
    'our AS on its way': ['192.0.2.0/24', { asPath: [65101, 65001] }],
    'of a cluster with an interconnect': ['192.0.2.0/24', { communities: [interconnectCommunity('west')] }],
    'loopback addresses': ['127.0.0.0/8', {}],
    'no prefix': ['192.0.2.0', {}],
  };
  const reasons = Object.values(cases).map(([prefix, route]) => [...learn({ [prefix]: route }).refused.keys()]);
  assert.deepEqual(reasons.flat(), ['OwnPrefix', 'OwnPrefix', 'Loop', 'Loop', 'PrefixInvalid', 'PrefixInvalid']);
  assert.deepEqual(prefixes(learn({ '10.99.1.0/24': {} })), ['10.99.1.0/24'], 'other VPCs may have any address');
});

test('a default route is used only where a rule names prefixes', () => {
  const everything = { '0.0.0.0/0': {} };
  assert.deepEqual(prefixes(learn(everything)), ['0.0.0.0/0']);
  assert.deepEqual(learn(everything, stateWith([{ match: {} }])).refused, new Map([['DefaultRoute', 1]]));
});

test('of more than the limit the lowest are used, whatever order they came in', () => {
  const state = stateWith([{ match: {} }], 2);
  const learned = learn({ '192.0.2.0/24': {}, '20.0.0.0/8': {}, '100.0.0.0/8': {} }, state);
  assert.deepEqual(prefixes(learned), ['20.0.0.0/8', '100.0.0.0/8']);
  assert.deepEqual(learned.refused, new Map([['OverLimit', 1]]));
});

test('how many prefixes each rule decided is counted, and kept until it is known anew', () => {
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
  assert.deepEqual(learnedBefore(planSpeaker(state), observedIn('Established'), { policies }).hits, hits);
});

test('a session that is down has no routes', () => {
  assert.deepEqual(learn({ '192.0.2.0/24': {} }, undefined, 'Active').routes, []);
});

test('until gobgpd told everything, routes that were told before stay where the session is up', () => {
  const state = stateWith([]);
  const plan = planSpeaker(state);
  const route = { prefix: '192.0.2.0/24', peer: 'tor', nextHop: address, preference: 100 };
  const peers = [{ peer: 'tor', address, asn: 65000, state: 'Established', notUsed: [{ reason: 'Denied', count: 3 }] }];
  const before = { learned: [route], peers } as unknown as Parameters<typeof learnedBefore>[2];
  assert.deepEqual(
    [...learnedBefore(plan, observedIn('Established'), before).peers],
    [[address, { routes: [route], refused: new Map([['Denied', 3]]) }]],
  );
  assert.equal(learnedBefore(plan, observedIn('Active'), before).peers.size, 0);
});
