/** What `judge` says about rules beyond the limits is what the controller puts in force. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PlacedRules } from './cluster-order.ts';
import { judgeTier, type ClusterWide, type JudgedClusterRule } from './judge-cluster.ts';
import { judge, type PolicyConnection, type PolicyEnd } from './judge.ts';
import { noNumbers, portNumbersOf } from './numbers.ts';
import { parsePolicyRules } from './parse.ts';
import { parseClusterRules } from './parse-cluster.ts';

const metadata = { name: 'one', namespace: 'shop', uid: 'u', resourceVersion: '1' };
const everyone = [{ namespaces: {} }];

function end(number: number, address = '10.16.0.2'): PolicyEnd {
  const namedPorts = [{ name: 'http', protocol: 'tcp', number }] as const;
  const place = { namespace: 'shop', namespaceLabels: {}, vpc: 'ovn-cluster', provider: 'ovn' };
  return { pod: { ...place, labels: {}, namedPorts }, address };
}

function to(number: number, address?: string): PolicyConnection {
  return { from: end(1), to: end(number, address), port: { protocol: 'tcp', number } };
}

/** Numbers 1 to 70. */
const crowded = portNumbersOf(
  Array.from({ length: 70 }, (_, index) => ({ namespace: 'shop', namedPorts: end(index + 1).pod?.namedPorts ?? [] })),
);

/** One more network than a rule may have. */
const networks = Array.from({ length: 10_001 }, (_, index) => `10.16.${index >> 8}.${index & 255}/32`);

function ruleOf(spec: object, connection: PolicyConnection, more: Partial<ClusterWide> = {}): JudgedClusterRule {
  const whole = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ...spec };
  const policies = new Map([
    ['ClusterNetworkPolicy/one', { ...parseClusterRules({ metadata, spec: whole }), createdMs: 0 }],
  ]);
  const wide = { policies, nodes: [], numbers: noNumbers, isPassClosed: false, ...more };
  const direction = 'egress' in spec ? 'egress' : 'ingress';
  const [judged] = judgeTier(wide, 'Admin', direction, connection).flatMap(({ rules }) => rules);
  assert.ok(judged);
  return judged;
}

describe('of too many numbers of a named port', () => {
  test('the lowest count for a NetworkPolicy, in its namespace', () => {
    const isPort = (number: number, namespace = 'shop') => {
      const spec = { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] };
      const policies = new Map([
        [`${namespace}/one`, parsePolicyRules({ metadata: { ...metadata, namespace }, spec })],
      ]);
      return judge(policies, 'ingress', to(number), crowded)[0]?.rules.map((rule) => [rule.isPort, rule.flaw]);
    };
    const flaw = 'pods give port http too many numbers; the rule contains the lowest 64';
    assert.deepEqual(isPort(64), [[true, flaw]]);
    assert.deepEqual(isPort(65), [[false, flaw]]);
  });

  test('an Accept accepts the lowest, and a Deny or a Pass denies all ports', () => {
    const judged = (action: string, number: number) => {
      const rule = { action, from: everyone, protocols: [{ destinationNamedPort: 'http' }] };
      const { isPort, action: inForce, flaw = '' } = ruleOf({ ingress: [rule] }, to(number), { numbers: crowded });
      return [inForce, isPort, flaw.endsWith('denies all ports')];
    };
    assert.deepEqual(
      [judged('Accept', 64), judged('Accept', 65)],
      [
        ['Accept', true, false],
        ['Accept', false, false],
      ],
    );
    for (const action of ['Deny', 'Pass']) assert.deepEqual(judged(action, 9), ['Deny', true, true]);
  });
});

describe('of too many networks', () => {
  test('a NetworkPolicy allows none, and a block with too many exceptions is nothing', () => {
    const isPeer = (blocks: readonly object[], address: string) => {
      const spec = {
        podSelector: {},
        policyTypes: ['Egress'],
        egress: [{ to: blocks.map((ipBlock) => ({ ipBlock })) }],
      };
      const policies = new Map([['shop/one', parsePolicyRules({ metadata, spec })]]);
      return judge(policies, 'egress', to(1, address), noNumbers)[0]?.rules.map(({ isPeer: is, flaw }) => [
        is,
        flaw !== undefined,
      ]);
    };
    const all = networks.map((cidr) => ({ cidr }));
    assert.deepEqual(isPeer(all.slice(1), '10.16.0.2'), [[true, false]]);
    assert.deepEqual(isPeer(all, '10.16.0.2'), [[false, true]]);
    const except = Array.from({ length: 257 }, (_, index) => `10.0.${index >> 8}.${index & 255}/32`);
    const wide = { cidr: '10.0.0.0/8', except };
    assert.deepEqual(isPeer([wide], '10.16.0.2'), [[false, true]]);
    assert.deepEqual(isPeer([wide, { cidr: '10.16.0.0/16' }], '10.16.0.2'), [[true, true]]);
  });

  test('an Accept accepts none, and a Deny or a Pass denies everything', () => {
    const judged = (action: string, address: string) => {
      const { isPeer, action: inForce } = ruleOf({ egress: [{ action, to: [{ networks }] }] }, to(1, address));
      return [inForce, isPeer];
    };
    assert.deepEqual(judged('Accept', '10.16.0.2'), ['Accept', false]);
    for (const action of ['Deny', 'Pass']) assert.deepEqual(judged(action, '192.0.2.1'), ['Deny', true]);
  });

  test('the addresses of nodes count', () => {
    const rule = { action: 'Accept', to: [{ networks: networks.slice(1) }, { nodes: {} }] };
    const nodes = [{ labels: {}, addresses: ['192.0.2.1'] }];
    assert.match(
      ruleOf({ egress: [rule] }, to(1, '192.0.2.1'), { nodes }).flaw ?? '',
      /more than 10000 networks and nodes/,
    );
    assert.equal(ruleOf({ egress: [rule] }, to(1)).flaw, undefined);
  });
});

test('the rules at the end of a tier with too many of them have no order', () => {
  const rules = Array.from({ length: 800 }, () => ({ action: 'Accept', from: everyone }));
  const spec = { tier: 'Baseline', priority: 1, subject: { namespaces: {} }, ingress: rules };
  const one: PlacedRules = { ...parseClusterRules({ metadata, spec }), createdMs: 0 };
  const wide = {
    policies: new Map([['ClusterNetworkPolicy/one', one]]),
    nodes: [],
    numbers: noNumbers,
    isPassClosed: false,
  };
  const judged = judgeTier(wide, 'Baseline', 'ingress', to(1)).flatMap((policy) => policy.rules);
  assert.deepEqual([judged.length, judged.filter(({ flaw }) => flaw === undefined).length], [800, 799]);
  assert.match(judged.at(-1)?.flaw ?? '', /^the tier Baseline has too many rules, and the order/);
});
