import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawObject } from '../../../lib/kube/types.ts';
import { parsePolicyRules } from '../../../lib/policies/parse.ts';
import { remotePeersOf } from '../../../lib/policies/remote-peers.ts';
import { parseHostName, parsePolicyPort } from '../../commands/policy/why.ts';
import type { ClusterReading, PolicyHost, PolicyReading } from '../../model/policy-reading.ts';
import { renderPolicyWhy } from '../../render/network-policy/why.ts';
import { nodeHost, parseNode, parsePod } from '../../watch/network-policy.ts';
import { noCluster } from '../../testing-policies.ts';
import { explainPolicies, type PolicyWhy } from './why.ts';

const meta = (name: string, more: object = {}): RawObject['metadata'] => ({
  name,
  uid: name,
  resourceVersion: '1',
  ...more,
});

function pod(namespace: string, name: string, ip: string, more: object = {}): PolicyHost {
  const containers = [{ ports: [{ name: 'http', containerPort: 8080 }] }];
  return parsePod(
    {
      metadata: meta(name, { namespace, labels: { app: name }, ...more }),
      spec: { nodeName: 'n1', containers },
      status: { podIPs: [{ ip }] },
    },
    { team: namespace },
    node('n1'),
  );
}

/** n1 has 100.64.0.1 and 172.30.1.1. */
function node(name: string) {
  const index = name.slice(1);
  const annotations = { 'ovn.kubernetes.io/ip_address': `100.64.0.${index}` };
  const addresses = [{ type: 'InternalIP', address: `172.30.1.${index}` }];
  return parseNode({ metadata: meta(name, { annotations }), status: { addresses } });
}

function host(address: string): PolicyHost {
  return { text: address, pod: undefined, node: undefined, sources: [address], destinations: [address] };
}

const web = pod('shop', 'web', '10.16.0.2');
const client = pod('ops', 'client', '10.16.0.3');
const plain = (text: string): string => text;

function policy(name: string, spec: object) {
  return [name, parsePolicyRules({ metadata: meta(name, { namespace: name.split('/')[0] }), spec })] as const;
}

const explain = (reading: Omit<PolicyReading, keyof ClusterReading>): PolicyWhy =>
  explainPolicies({ ...reading, ...noCluster });

const closed = policy('shop/closed', { podSelector: {} });
const ofOps = policy('shop/ops', {
  podSelector: { matchLabels: { app: 'web' } },
  ingress: [
    { from: [{ podSelector: {} }] },
    { from: [{ namespaceSelector: { matchLabels: { team: 'ops' } } }], ports: [{ port: 'http' }] },
  ],
});

describe('why a connection is allowed or not', () => {
  test('without a policy', () => {
    const why = explain({ from: client, to: web, port: undefined, policies: new Map() });
    assert.equal(why.isAllowed, true);
    assert.deepEqual(
      why.families.flatMap(({ ends }) => ends.map(({ because }) => because)),
      ['no policy selects it', 'no policy selects it'],
    );
  });

  test('the rule that allows it is named', () => {
    const policies = new Map([closed, ofOps]);
    const why = explain({ from: client, to: web, port: parsePolicyPort('8080'), policies });
    assert.equal(why.isAllowed, true);
    const [, ingress] = why.families[0]?.ends ?? [];
    assert.ok(ingress);
    assert.equal(ingress.because, 'NetworkPolicy shop/ops, spec.ingress[1]');
    assert.deepEqual(
      ingress.rules.map(({ policy: name, rule, isPeer, isPort, ports }) => [name, rule, isPeer, isPort, ports]),
      [
        ['shop/closed', '', false, false, ''],
        ['shop/ops', 'spec.ingress[0]', false, true, 'all'],
        ['shop/ops', 'spec.ingress[1]', true, true, 'http/TCP'],
      ],
    );
  });

  test('what is missing is shown for each rule', () => {
    const policies = new Map([closed, ofOps]);
    const why = explain({ from: client, to: web, port: parsePolicyPort('53/udp'), policies });
    assert.equal(why.isAllowed, false);
    assert.equal(
      renderPolicyWhy(why, plain),
      `pod ops/client → pod shop/web at 53/UDP
  10.16.0.3 → 10.16.0.2 is denied

egress of pod ops/client: allowed, no policy selects it

ingress of pod shop/web: denied, no rule of shop/closed, shop/ops allows it
  POLICY        RULE              OTHER END   PORT   PORTS
  shop/closed   no rules
  shop/ops      spec.ingress[0]   no          yes    all
  shop/ops      spec.ingress[1]   yes         no     http/TCP
`,
    );
  });

  test('without a port the answer is about some ports', () => {
    const why = explain({ from: client, to: web, port: undefined, policies: new Map([ofOps]) });
    assert.equal(why.families[0]?.verdict, 'allowed at some ports');
    assert.equal(why.isAllowed, true);
  });

  test('a node reaches its own pods alone', () => {
    const policies = new Map([closed]);
    const isAllowed = (from: PolicyHost): boolean => explain({ from, to: web, port: undefined, policies }).isAllowed;
    assert.equal(isAllowed(nodeHost(node('n1'))), true);
    assert.equal(isAllowed(host('172.30.1.1')), true);
    assert.equal(isAllowed(nodeHost(node('n2'))), false);
    const raw = { metadata: meta('host', { namespace: 'shop' }), spec: { hostNetwork: true } };
    assert.equal(isAllowed(parsePod(raw, {}, node('n1'))), true);
    assert.deepEqual(parsePod(raw, {}, node('n2')).sources, ['100.64.0.2']);
  });

  test('an address outside is named by blocks alone, and exceptions hold for their block', () => {
    const out = policy('shop/out', {
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [{ to: [{ namespaceSelector: {} }, { ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.8/32'] } }] }],
    });
    const isAllowed = (address: string) =>
      explain({ from: web, to: host(address), port: undefined, policies: new Map([out]) }).isAllowed;
    assert.deepEqual([isAllowed('192.0.2.7'), isAllowed('192.0.2.8'), isAllowed('198.51.100.1')], [true, false, false]);
  });

  test('a named port has no number in a block', () => {
    const ports = [{ port: 'http' }];
    const to = (peers: readonly object[] | undefined) =>
      policy('ops/out', {
        podSelector: {},
        policyTypes: ['Egress'],
        egress: [{ ...(peers && { to: peers }), ports }],
      });
    const isAllowed = (peers: readonly object[] | undefined) =>
      explain({ from: client, to: web, port: parsePolicyPort('8080'), policies: new Map([to(peers)]) }).isAllowed;
    assert.equal(isAllowed([{ ipBlock: { cidr: '10.0.0.0/8' } }]), false);
    assert.equal(isAllowed([{ namespaceSelector: {} }]), true);
    assert.equal(isAllowed(undefined), true);
  });

  test('what else decides is said', () => {
    const annotations = { 'ovn.kubernetes.io/security_groups': 'web', 'ovn.kubernetes.io/logical_router': 'blue' };
    const guarded = pod('ops', 'guarded', '10.16.0.9', { annotations });
    const all = policy('shop/all', { podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] });
    const why = explain({ from: guarded, to: web, port: undefined, policies: new Map([all]) });
    assert.deepEqual([why.isAllowed, ...why.problems.map(({ code }) => code)], [false, 'SecurityGroups', 'OtherVpc']);
  });
});

test('ends and ports are read', () => {
  assert.deepEqual(parseHostName('192.0.2.7'), { kind: 'address', address: '192.0.2.7' });
  assert.deepEqual(parseHostName('n1'), { kind: 'node', name: 'n1' });
  assert.deepEqual(parsePolicyPort('53/UDP'), { protocol: 'udp', number: 53 });
  for (const bad of ['', 'http', '0', '65536', '80/icmp', '80/']) assert.throws(() => parsePolicyPort(bad), /PORT:/);
});

test('a pod of another cluster is a peer of rules that name the cluster, by the addresses that it sent', () => {
  const key = 'isthmus.network/cluster';
  const of = (cluster: string) => ({ podSelector: { matchLabels: { app: 'db', [key]: cluster } } });
  const policies = new Map([policy('shop/west', { podSelector: {}, ingress: [{ from: [of('west')] }] })]);
  const [peer] = [...policies.values()].flatMap(remotePeersOf);
  assert.ok(peer);
  const from = (cluster: string, vpc = 'ovn-cluster'): PolicyHost => {
    return { ...host('10.17.0.2'), remote: [{ cluster, set: peer.set, vpc }] };
  };
  const isAllowed = (source: PolicyHost): boolean =>
    explain({ from: source, to: web, port: undefined, policies }).isAllowed;
  assert.deepEqual([from('west'), from('north'), from('west', 'blue'), host('10.17.0.2')].map(isAllowed), [
    true,
    false,
    false,
    false,
  ]);
  const labelled = pod('shop', 'db', '10.16.0.9', { labels: { app: 'db', [key]: 'west' } });
  assert.equal(isAllowed(labelled), false, 'a pod of this cluster that claims to be of the other');
});
