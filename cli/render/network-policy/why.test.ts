/** Golden files of the explanations. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { PolicyReading } from '../../model/policy-reading.ts';
import { explainPolicies } from '../../plan/network-policy/why.ts';
import { clusterOf, clusterPolicyOf, closed, hostOf, namespaceOf, podOf, policyOf } from '../../testing-policies.ts';
import { paintFor } from '../paint.ts';
import { renderPolicyWhy } from './why.ts';

function matches(context: TestContext, name: string, reading: PolicyReading): void {
  const text = renderPolicyWhy(explainPolicies(reading), paintFor(false));
  context.assert.fileSnapshot(text, join(import.meta.dirname, 'testdata', `${name}.txt`), { serializers: [String] });
}

const shop = { namespaces: { matchLabels: { team: 'shop' } } };
const dns = { udp: { destinationPort: { number: 53 } } };
const gate = clusterPolicyOf('ClusterNetworkPolicy/gate', {
  subject: shop,
  ingress: [
    { name: 'dns', action: 'Accept', from: [{ namespaces: {} }], protocols: [dns] },
    { name: 'guests', action: 'Deny', from: [{ namespaces: { matchLabels: { team: 'guests' } } }] },
    {
      name: 'own',
      action: 'Pass',
      from: [shop],
      protocols: [{ tcp: { destinationPort: { range: { start: 80, end: 9000 } } } }],
    },
    { name: 'rest', action: 'Deny', from: [{ namespaces: {} }] },
  ],
});
const baseline = clusterPolicyOf('BaselineAdminNetworkPolicy/default', {
  ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }],
});
const web = policyOf('web', {
  podSelector: { matchLabels: { app: 'web' } },
  ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 'http' }, { port: 443 }] }],
});

function readingOf(
  port: PolicyReading['port'],
  ips: readonly [string[], string[]] = [['10.16.0.3'], ['10.16.0.2']],
): PolicyReading {
  const pods = [podOf('client', { ips: ips[0] }), podOf('web', { ips: ips[1] })];
  const reading = { ...namespaceOf(pods, [closed('Ingress'), web]), ...clusterOf([gate, baseline]) };
  const [from, to] = reading.pods.map(hostOf);
  assert.ok(from && to);
  return { ...reading, from, to, port };
}

test('each tier of a connection that is denied', (t) =>
  matches(t, 'why-denied', readingOf({ protocol: 'tcp', number: 22 })));

const sent = 'ingress(dp="ovn-default", inport="client.shop")';
const received = `egress(dp="ovn-default", inport="client.shop", outport="web.shop")
 4. ls_out_acl (northd.c:6543): reg0[9] == 1 && (outport == @isthmus.isolated.in && ip4 /* isolation ingress */), priority 3000, uuid f70038e1
    drop;`;

for (const [name, text] of [
  ['agrees', `${sent}\n${received}`],
  ['disagrees', `${sent}\n${received.split('\n')[0]}\n    /* output to "web.shop", type "" */`],
] as const)
  test(`OVN ${name}`, (t) => {
    const families = [{ family: 4, packet: '', text }] as const;
    const trace = { where: 'pod kube-system/ovn', ports: { from: 'client.shop', to: 'web.shop' }, families };
    matches(t, `why-${name}`, { ...readingOf({ protocol: 'tcp', number: 22 }), ...clusterOf([]), ovn: { trace } });
  });

test('OVN was not asked', (t) => {
  const untraced = { code: 'Forbidden', message: 'no permission to run ovn-trace' };
  matches(t, 'why-untraced', { ...readingOf({ protocol: 'tcp', number: 443 }), ...clusterOf([]), ovn: { untraced } });
});

test('a Pass leaves a connection to NetworkPolicies', (t) =>
  matches(t, 'why-passed', readingOf({ protocol: 'tcp', number: 443 })));

test('without a port, for both families', (t) =>
  matches(
    t,
    'why-any-port',
    readingOf(undefined, [
      ['10.16.0.3', 'fd00:10:16::3'],
      ['10.16.0.2', 'fd00:10:16::2'],
    ]),
  ));

test('what may not be read is part of the answer', (t) => {
  const message = 'no permission to read clusternetworkpolicies (refused); what they decide is not part of this answer';
  const unread = [{ code: 'Forbidden', what: 'clusternetworkpolicies', message }];
  matches(t, 'why-unread', { ...readingOf({ protocol: 'tcp', number: 443 }), ...clusterOf([]), unread });
});

test('ends without a port in common', (t) => {
  const out = policyOf('out', { podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ port: 22 }] }] });
  const reading = readingOf(undefined);
  const policies = namespaceOf([], [web, out]).policies;
  matches(t, 'why-nothing-in-common', { ...reading, ...clusterOf([]), policies });
});
