import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawObject } from '../../../lib/kube/types.ts';
import type { NamespaceReading, PolicyHost, PolicyReading } from '../../model/policy-reading.ts';
import { clusterOf, clusterPolicyOf, closed, hostOf, namespaceOf, podOf, policyOf } from '../../testing-policies.ts';
import { nodeHost } from '../../watch/network-policy.ts';
import { explainPolicies, type EndAnswer, type PolicyWhy } from './why.ts';

const pods = [podOf('web'), podOf('db', { ips: ['10.16.0.3'] })];
const everyone = [{ namespaces: {} }];
const tcp = (...numbers: readonly number[]) => numbers.map((number) => ({ tcp: { destinationPort: { number } } }));
const gate = (name: string, spec: object) => clusterPolicyOf(`ClusterNetworkPolicy/${name}`, spec);

type Policies = readonly ReturnType<typeof clusterPolicyOf>[];

interface Asked {
  readonly cluster: Policies;
  readonly policies?: readonly RawObject[];
  readonly port?: number;
  readonly more?: Parameters<typeof clusterOf>[1];
}

function readingOf({ cluster, policies = [], port, more }: Asked): PolicyReading {
  const reading: NamespaceReading = { ...namespaceOf(pods, policies), ...clusterOf(cluster, more) };
  const [web, db] = reading.pods;
  assert.ok(web && db);
  return {
    ...reading,
    from: hostOf(web),
    to: hostOf(db),
    port: port === undefined ? undefined : { protocol: 'tcp', number: port },
  };
}

function ask(asked: Asked): PolicyWhy {
  return explainPolicies(readingOf(asked));
}

function endOf(why: PolicyWhy, direction: EndAnswer['direction']): EndAnswer {
  const end = why.families[0]?.ends.find((one) => one.direction === direction);
  assert.ok(end);
  return end;
}

/** The verdict of the ingress, and why. */
function told(asked: Asked): string {
  const { verdict, because } = endOf(ask(asked), 'ingress');
  return `${verdict}: ${because}`;
}

describe('the order of the tiers', () => {
  const into = (action: string, more: object = {}) => ({ ingress: [{ name: 'n', action, from: everyone, ...more }] });
  const baseline = (action: string) => clusterPolicyOf('BaselineAdminNetworkPolicy/default', into(action));
  const open = policyOf('open', { podSelector: {}, ingress: [{}] });

  test('Admin decides before NetworkPolicies, and a Pass leaves it to them', () => {
    const with_ = (action: string, ...policies: readonly RawObject[]) =>
      told({ cluster: [gate('gate', into(action))], policies, port: 80 });
    assert.equal(with_('Accept', closed('Ingress')), 'allowed: ClusterNetworkPolicy gate, spec.ingress[0] (n)');
    assert.equal(with_('Deny', open), 'denied: ClusterNetworkPolicy gate, spec.ingress[0] (n)');
    assert.equal(with_('Pass', open), 'allowed: NetworkPolicy shop/open, spec.ingress[0]');
    assert.equal(with_('Pass', closed('Ingress')), 'denied: no rule of shop/closed allows it');
    assert.equal(with_('Pass'), 'allowed: no rule denies it');
  });

  test('Baseline decides where no NetworkPolicy isolates the pod', () => {
    const cluster = [baseline('Deny')];
    assert.equal(told({ cluster, port: 80 }), 'denied: BaselineAdminNetworkPolicy default, spec.ingress[0] (n)');
    assert.equal(told({ cluster, policies: [open], port: 80 }), 'allowed: NetworkPolicy shop/open, spec.ingress[0]');
    assert.equal(told({ cluster, policies: [closed('Egress')], port: 80 }).slice(0, 6), 'denied');
    const passing = [baseline('Pass')];
    assert.equal(
      told({ cluster: passing, port: 80 }),
      'allowed: BaselineAdminNetworkPolicy default, spec.ingress[0] (n)',
    );
    assert.equal(
      told({ cluster: passing, policies: [closed('Ingress')], port: 80 }),
      'denied: no rule of shop/closed allows it',
    );
  });

  test('the first rule that names the other end and the port decides', () => {
    const rules = [
      { action: 'Deny', from: [{ pods: { podSelector: { matchLabels: { app: 'other' } } } }] },
      { action: 'Pass', from: everyone, protocols: tcp(80) },
      { action: 'Accept', from: everyone, protocols: tcp(80, 81) },
      { action: 'Deny', from: everyone },
    ];
    const asked = (port: number) =>
      ask({ cluster: [gate('gate', { ingress: rules })], policies: [closed('Ingress')], port });
    const deciding = (port: number) =>
      endOf(asked(port), 'ingress').rules.flatMap(({ rule, decides }) => (decides.length > 0 ? [rule] : []));
    assert.deepEqual(
      [80, 81, 82].map((port) => asked(port).isAllowed),
      [false, true, false],
    );
    assert.deepEqual([80, 81, 82].map(deciding), [['spec.ingress[1]'], ['spec.ingress[2]'], ['spec.ingress[3]']]);
  });

  test('without ACL tiers a Pass denies where other rules of the tier follow, and this is said', () => {
    const cluster = [
      gate('gate', {
        ingress: [
          { action: 'Pass', from: everyone },
          { action: 'Deny', from: everyone },
        ],
      }),
    ];
    const why = ask({ cluster, port: 80, more: { isPassClosed: true } });
    assert.deepEqual([why.isAllowed, why.problems.map(({ code }) => code)], [false, ['NotSupported']]);
    assert.match(why.problems[0]?.message ?? '', /^ClusterNetworkPolicy gate, spec\.ingress\[0\]: Pass denies/);
    assert.equal(endOf(why, 'ingress').because, 'ClusterNetworkPolicy gate, spec.ingress[0]');
    assert.equal(ask({ cluster, port: 80 }).isAllowed, true);
  });
});

describe('without a port', () => {
  const ofRules = (...ingress: readonly object[]): Policies => [gate('gate', { ingress })];
  const rule = (action: string, ...ports: readonly number[]) => ({
    action,
    from: everyone,
    ...(ports.length > 0 && { protocols: tcp(...ports) }),
  });
  const verdict = (cluster: Policies, ...policies: readonly RawObject[]) => {
    const [family] = ask({ cluster, policies }).families;
    return [family?.verdict, ...(family?.verdict === 'allowed at some ports' ? family.ports : [])];
  };

  test('a rule that is hidden by one before it allows nothing', () => {
    assert.deepEqual(verdict(ofRules(rule('Deny', 80, 81), rule('Accept', 80), rule('Deny'))), ['denied']);
    assert.deepEqual(verdict(ofRules(rule('Deny'), rule('Accept'))), ['denied']);
    assert.deepEqual(verdict(ofRules(rule('Accept', 80), rule('Deny'))), ['allowed at some ports', 'TCP 80']);
    assert.deepEqual(verdict(ofRules(rule('Accept'), rule('Deny', 80))), ['allowed']);
    assert.deepEqual(verdict(ofRules(rule('Deny', 80))), [
      'allowed at some ports',
      'TCP 1-79',
      'TCP 81-65535',
      'all UDP',
      'all SCTP',
    ]);
  });

  test('NetworkPolicies decide what Admin leaves', () => {
    const http = policyOf('http', { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] });
    assert.deepEqual(verdict(ofRules(rule('Deny', 8080)), http), ['denied']);
    assert.deepEqual(verdict(ofRules(rule('Deny', 80)), http), ['allowed at some ports', 'http (TCP)']);
    assert.deepEqual(verdict(ofRules(rule('Accept', 80)), http), ['allowed at some ports', 'TCP 80', 'http (TCP)']);
  });

  test('both ends must allow a port in common', () => {
    const out = gate('out', {
      egress: [
        { ...rule('Accept', 81), from: undefined, to: everyone },
        { action: 'Deny', to: everyone },
      ],
    });
    const into = gate('in', { ingress: [rule('Accept', 80), rule('Deny')] });
    const why = ask({ cluster: [out, into] });
    assert.equal(why.isAllowed, false);
    assert.deepEqual(
      why.families[0]?.ends.map((end) => end.verdict),
      ['allowed at some ports', 'allowed at some ports'],
    );
  });
});

describe('other ends', () => {
  const deny = [
    gate('gate', {
      ingress: [{ action: 'Deny', from: everyone }],
      egress: [{ action: 'Deny', to: [{ networks: ['0.0.0.0/0'] }] }],
    }),
  ];

  test('the node of a pod and the pod itself pass every rule', () => {
    const reading = readingOf({ cluster: deny, port: 80 });
    const node = { name: 'n1', joinAddresses: ['100.64.0.1'], addresses: ['172.30.1.1'] };
    const pod: PolicyHost = { ...reading.to, node };
    assert.equal(explainPolicies({ ...reading, from: nodeHost(node), to: pod }).isAllowed, true);
    assert.equal(explainPolicies({ ...reading, from: pod, to: pod }).isAllowed, true);
    assert.equal(explainPolicies({ ...reading, from: pod, to: nodeHost(node) }).isAllowed, false);
  });

  test('nodes are named by their labels', () => {
    const cluster = [
      gate('gate', {
        egress: [
          { action: 'Accept', to: [{ nodes: { matchLabels: { role: 'db' } } }] },
          { action: 'Deny', to: [{ networks: ['0.0.0.0/0'] }] },
        ],
      }),
    ];
    const nodes = [{ labels: { role: 'db' }, addresses: ['172.30.1.1'] }];
    const isAllowed = (address: string) => {
      const reading = readingOf({ cluster, port: 80, more: { nodes } });
      const to = { text: address, pod: undefined, node: undefined, sources: [address], destinations: [address] };
      return explainPolicies({ ...reading, to }).isAllowed;
    };
    assert.deepEqual([isAllowed('172.30.1.1'), isAllowed('172.30.1.2')], [true, false]);
  });

  test('what may not be read is named', () => {
    const unread = [{ code: 'Forbidden', what: 'clusternetworkpolicies', message: 'no permission' }];
    const why = explainPolicies({ ...readingOf({ cluster: [], port: 80 }), unread });
    assert.deepEqual([why.isAllowed, why.isComplete, why.problems], [true, false, unread]);
  });
});
