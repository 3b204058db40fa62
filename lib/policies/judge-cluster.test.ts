import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { closedPassMessage, isClosedPassReported } from './closed-pass.ts';
import type { PlacedRules } from './cluster-order.ts';
import { judgeTier, type ClusterWide } from './judge-cluster.ts';
import type { PolicyConnection, PolicyEnd } from './judge.ts';
import { noNumbers } from './numbers.ts';
import { parseClusterRules } from './parse-cluster.ts';

function end(app: string, address: string): PolicyEnd {
  const namedPorts = [{ name: 'http', protocol: 'tcp', number: 8080 }] as const;
  const place = { namespace: 'shop', namespaceLabels: { team: 'shop' }, vpc: 'ovn-cluster', provider: 'ovn' };
  return { pod: { ...place, labels: { app }, namedPorts }, address };
}

const connection: PolicyConnection = {
  from: end('web', '10.16.0.2'),
  to: end('db', '10.16.0.3'),
  port: { protocol: 'tcp', number: 8080 },
};

type Named = readonly [name: string, policy: PlacedRules];

function policy(name: string, spec: object, createdMs = 0): Named {
  const metadata = { name, uid: name, resourceVersion: '1' };
  const defaults = { tier: 'Admin', priority: 10, subject: { namespaces: {} } };
  return [
    `ClusterNetworkPolicy/${name}`,
    { ...parseClusterRules({ metadata, spec: { ...defaults, ...spec } }), createdMs },
  ];
}

function wide(policies: readonly Named[], more: Partial<ClusterWide> = {}): ClusterWide {
  return { policies: new Map(policies), nodes: [], numbers: noNumbers, isPassClosed: false, ...more };
}

const everyone = [{ namespaces: {} }];

describe('the policies of a tier', () => {
  const ingress = [{ action: 'Deny', from: everyone }];

  test('come by priority, then by age, then by name', () => {
    const policies = [
      policy('b', { ingress }, 5),
      policy('a', { ingress }, 5),
      policy('old', { ingress }, 1),
      policy('first', { ingress, priority: 1 }, 9),
      policy('base', { ingress, tier: 'Baseline' }),
    ];
    const names = (tier: 'Admin' | 'Baseline') =>
      judgeTier(wide(policies), tier, 'ingress', connection).map(({ name }) => name.slice(name.indexOf('/') + 1));
    assert.deepEqual(names('Admin'), ['first', 'old', 'a', 'b']);
    assert.deepEqual(names('Baseline'), ['base']);
  });

  test('are those that select the end and have rules for the direction', () => {
    const policies = [
      policy('db', { ingress, subject: { pods: { podSelector: { matchLabels: { app: 'db' } } } } }),
      policy('web', { ingress, subject: { pods: { podSelector: { matchLabels: { app: 'web' } } } } }),
      policy('ops', { ingress, subject: { namespaces: { matchLabels: { team: 'ops' } } } }),
      policy('out', { egress: [{ action: 'Deny', to: everyone }] }),
      policy('nobody', { ingress, subject: {} }),
    ];
    const names = (direction: 'ingress' | 'egress') =>
      judgeTier(wide(policies), 'Admin', direction, connection).map(({ name }) => name);
    assert.deepEqual(names('ingress'), ['ClusterNetworkPolicy/db']);
    assert.deepEqual(names('egress'), ['ClusterNetworkPolicy/out']);
  });
});

describe('a rule', () => {
  const peers = (rule: object, more: Partial<ClusterWide> = {}, to: PolicyEnd = connection.to) => {
    const policies = [policy('one', { egress: [{ action: 'Accept', ...rule }] })];
    const [judged] = judgeTier(wide(policies, more), 'Admin', 'egress', { ...connection, to });
    return judged?.rules.map(({ isPeer, isPort }) => [isPeer, isPort]);
  };

  test('names pods, networks, and ports of the destination by their names', () => {
    const protocols = [{ destinationNamedPort: 'http' }];
    assert.deepEqual(peers({ to: everyone, protocols }), [[true, true]]);
    assert.deepEqual(peers({ to: [{ networks: ['10.16.0.0/24'] }], protocols }), [[true, false]]);
    assert.deepEqual(peers({ to: [{ networks: ['10.17.0.0/24'] }] }), [[false, true]]);
    assert.deepEqual(peers({ to: [{ domainNames: ['example.com'] }] }), [[false, true]]);
    const policies = wide([policy('one', { egress: [{ action: 'Accept', to: [{ domainNames: ['example.com'] }] }] })]);
    const [named] = judgeTier(policies, 'Admin', 'egress', connection);
    assert.match(named?.rules[0]?.flaw ?? '', /only the controller knows the addresses of domainNames/);
  });

  test('names nodes by all of their addresses', () => {
    const nodes = [
      { labels: { role: 'db' }, addresses: ['172.30.1.1', '192.0.2.1'] },
      { labels: {}, addresses: ['172.30.1.2'] },
    ];
    const to = [{ nodes: { matchLabels: { role: 'db' } } }];
    const isPeer = (address: string) => peers({ to }, { nodes }, { pod: undefined, address })?.[0]?.[0];
    assert.deepEqual(['172.30.1.1', '192.0.2.1', '172.30.1.2'].map(isPeer), [true, true, false]);
  });

  test('that this code does not know names everyone and denies, unless it accepts', () => {
    const of = (action: string) => {
      const policies = [policy('one', { egress: [{ action, to: [{ moons: {} }] }] })];
      const [judged] = judgeTier(wide(policies), 'Admin', 'egress', connection);
      return judged?.rules.map((rule) => [rule.action, rule.isPeer, rule.flaw !== undefined]);
    };
    assert.deepEqual(of('Pass'), [['Deny', true, true]]);
    assert.deepEqual(of('Accept'), [['Accept', false, true]]);
  });

  test('that passes on is closed without ACL tiers, unless it is the last one of the tier Admin', () => {
    const pass = [{ action: 'Pass', from: everyone }];
    const policies = [
      policy('a', { ingress: [...pass, ...pass] }),
      policy('b', { ingress: pass, subject: { namespaces: { matchLabels: { team: 'ops' } } } }),
      policy('c', { ingress: pass, tier: 'Baseline' }),
      policy('d', { ingress: [...pass, ...pass], tier: 'Baseline' }),
    ];
    const closed = (tier: 'Admin' | 'Baseline', given: readonly Named[]) =>
      judgeTier(wide(given, { isPassClosed: true }), tier, 'ingress', connection).flatMap(({ rules }) =>
        rules.map((rule) => rule.isPassClosed),
      );
    // The last rule is one of b, which does not select the pod.
    assert.deepEqual(closed('Admin', policies), [true, true]);
    assert.deepEqual(closed('Admin', policies.slice(0, 1)), [true, false]);
    assert.deepEqual(closed('Baseline', policies), [false, false, false]);
  });
});

test('a condition says whether Pass is closed', () => {
  const condition = { type: 'Ready', status: 'False', reason: 'NotSupported' } as const;
  const isReported = (message: string) => isClosedPassReported([{ ...condition, message }]);
  assert.equal(isReported(`spec.ingress[0]: x; spec.ingress[1]: ${closedPassMessage}`), true);
  assert.equal(isReported('spec.ingress[0]: x'), false);
  assert.equal(isClosedPassReported([]), false);
});
