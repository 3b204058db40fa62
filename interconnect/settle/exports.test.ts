import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePolicies } from '../../lib/route-policy/compile.ts';
import type { Member } from '../model/messages.ts';
import { candidatesOf } from './candidates.ts';
import { policy } from './policy/testing.ts';
import { cidr, local, route, west } from '../model/testing.ts';
import { viewOf } from '../../lib/slices/testing.ts';
import { areShared, buildEdges, learnedView } from '../watch/edges.ts';
import { noEdges, type Edges } from '../model/edges.ts';
import { Exports } from './exports.ts';
import { NativePrefixes } from '../state/native-prefixes.ts';

const vpc = 'ovn-cluster';
const state = (...learned: readonly object[]) =>
  viewOf(learnedView, { metadata: { name: 'n', uid: 'u', resourceVersion: '1' } }, learned);
const entry = (prefix: string, fields: object = {}) => ({
  prefix,
  peer: 'tor',
  nextHop: '172.30.0.1',
  preference: 100,
  vpc,
  ...fields,
});
const edgesOf = (...prefixes: readonly string[]): Edges =>
  buildEdges({ states: [['n1', state(...prefixes.map((one) => entry(one)))]], isReady: () => true }, noEdges);

function nativesOf(...members: readonly Member[]): NativePrefixes {
  const natives = new NativePrefixes();
  natives.update(new Set(members.map(({ name }) => name)), new Map(members.map((member) => [member.name, member])));
  return natives;
}

describe('what routers lead to', () => {
  it('is learned for a VPC by nodes that can forward, with the tags of all of them', () => {
    const states = [
      ['n2', state(entry('192.0.2.0/24', { tags: ['b'] }), entry('198.51.100.0/24', { vpc: undefined }))],
      ['n1', state(entry('192.0.2.0/24', { tags: ['a'] }), entry('192.0.2.0/24', { nextHop: '172.30.0.2' }))],
      ['n3', state(entry('192.0.2.0/24', { tags: ['dead'] }), entry('203.0.113.0/24'))],
    ] as const;
    const edges = buildEdges({ states, isReady: (node) => node !== 'n3' }, noEdges);
    assert.deepEqual(edges, new Map([[vpc, new Map([['192.0.2.0/24', { nodes: ['n1', 'n2'], tags: ['a', 'b'] }]])]]));
    const again = buildEdges({ states: states.toReversed(), isReady: (node) => node !== 'n3' }, edges);
    assert.equal(again, edges);
    assert.deepEqual(state({ prefix: 7 }), []);
  });

  it('does not include addresses of pools that clusters share, which each announces to routers by itself', () => {
    const states = [
      ['n1', state(entry('198.51.100.5/32'), entry('2001:db8:5::7/128'), entry('198.51.100.0/24'))],
    ] as const;
    const pool = (isOffered: boolean) => ({
      name: 'world',
      isOffered,
      ranges: ['198.51.100.0/29', '2001:db8:5::-2001:db8:5::f'],
      clusters: [],
      serviceSelector: {},
      namespaceSelector: {},
    });
    const prefixes = (isOffered: boolean) => {
      const isShared = areShared([pool(isOffered)]);
      return [
        ...(buildEdges({ states, isReady: () => true, isShared }, noEdges)
          .get(vpc)
          ?.keys() ?? []),
      ];
    };
    assert.deepEqual(prefixes(true), ['198.51.100.0/24']);
    assert.equal(prefixes(false).length, 3);
  });
});

describe('candidates', () => {
  const own = local.vpcs.get(vpc);
  assert.ok(own);

  it('exclude prefixes within those of this or another cluster, and the default route', () => {
    const natives = nativesOf({
      ...west,
      routes: [
        route('10.17.0.0/16'),
        route('10.99.0.0/16', { origin: 'bgp' }),
        route('10.20.0.0/14', { origin: 'static' }),
      ],
    });
    const all = [
      '10.16.3.0/24',
      '10.17.0.0/16',
      '10.17.9.0/24',
      '10.22.1.0/24',
      '0.0.0.0/0',
      '10.99.3.0/24',
      '10.0.0.0/8',
    ];
    const { prefixes, refused } = candidatesOf(own, edgesOf(...all).get(vpc) ?? new Map(), (one) =>
      natives.cover('ts', one),
    );
    assert.deepEqual(
      prefixes.map((one) => `${one.cidr} ${one.origin}`),
      ['10.16.0.0/16 connected', '10.0.0.0/8 bgp', '10.99.3.0/24 bgp'],
    );
    assert.deepEqual([...refused].map(([prefix, { code }]) => `${prefix} ${code}`).sort(), [
      '0.0.0.0/0 PrefixInvalid',
      '10.16.3.0/24 Loop',
      '10.17.0.0/16 Loop',
      '10.17.9.0/24 Loop',
      '10.22.1.0/24 Loop',
    ]);
    assert.equal(
      refused.get('10.17.9.0/24')?.message,
      '10.17.9.0/24 of a router is offered to no cluster: it is within 10.17.0.0/16 of west',
    );
  });
});

describe('exports', () => {
  const set = (rules: readonly object[]) => compilePolicies([policy('p', { direction: 'Export', rules })]);
  const offered = (exports: Exports): string =>
    exports
      .on('ts')
      .map((one) => `${one.cidr} ${one.origin}`)
      .join();

  it('contain learned prefixes that a policy allows, and lose them to the cluster that owns them', () => {
    const exports = new Exports();
    const natives = nativesOf();
    const facts = { local, policies: set([]), edges: edgesOf('192.0.2.0/24', '10.17.9.0/24'), natives };
    exports.update(facts);
    assert.equal(offered(exports), '10.16.0.0/16 connected');
    const policies = set([{ match: { origins: ['bgp'] }, setTags: ['wan'] }]);
    exports.update({ ...facts, policies });
    assert.equal(offered(exports), '10.16.0.0/16 connected,10.17.9.0/24 bgp,192.0.2.0/24 bgp');
    assert.deepEqual(exports.on('ts')[1]?.tags, ['wan']);
    natives.update(new Set(['west']), new Map([['west', west]]));
    exports.update({ ...facts, policies });
    assert.equal(offered(exports), '10.16.0.0/16 connected,192.0.2.0/24 bgp');
    exports.update({ ...facts, policies, edges: noEdges });
    assert.equal(offered(exports), '10.16.0.0/16 connected');
  });

  it('list the aggregates, which are no routes in this cluster', () => {
    const exports = new Exports();
    const policies = set([{ match: { origins: ['bgp'] }, aggregate: '192.0.0.0/16' }]);
    exports.update({ local, policies, edges: edgesOf('192.0.2.0/24', '192.0.3.0/24'), natives: nativesOf() });
    assert.equal(offered(exports), '10.16.0.0/16 connected,192.0.0.0/16 bgp');
    assert.deepEqual(exports.aggregates, new Map([[vpc, [cidr('192.0.0.0/16')]]]));
  });
});
