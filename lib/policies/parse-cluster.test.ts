import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseAdminRules, parseBaselineRules, parseClusterRules } from './parse-cluster.ts';

const metadata = { name: 'one', uid: 'u', resourceVersion: '1' };
const everyPod = { namespaces: {} };
const admin = (spec: object) =>
  parseClusterRules({ metadata, spec: { tier: 'Admin', priority: 7, subject: everyPod, ...spec } });
const everything = ['0.0.0.0/0', '::/0'].map((cidr) => ({ cidr, except: [] }));

describe('a policy of the whole cluster', () => {
  test('has its tier and priority, and no effect in a direction without rules', () => {
    const { tier, priority, subject, ingress, egress } = admin({ ingress: [] });
    assert.deepEqual([tier, priority, ingress, egress], ['Admin', 7, undefined, undefined]);
    assert.deepEqual(subject, { namespaces: {}, pods: {} });
    assert.equal(
      parseClusterRules({ metadata, spec: { tier: 'Baseline', priority: 0, subject: {} } }).subject,
      undefined,
    );
  });

  test('names pods, nodes and networks', () => {
    const pods = { namespaceSelector: { matchLabels: { a: '1' } }, podSelector: { matchLabels: { b: '2' } } };
    const to = [{ pods }, { namespaces: {} }, { nodes: {} }, { networks: ['10.0.0.0/8', 'fd00::/8'] }];
    const [rule] = admin({ egress: [{ action: 'Deny', name: 'out', to }] }).egress ?? [];
    assert.deepEqual(rule, {
      name: 'out',
      action: 'Deny',
      peers: {
        pods: [
          { namespaces: pods.namespaceSelector, pods: pods.podSelector },
          { namespaces: {}, pods: {} },
        ],
        blocks: ['10.0.0.0/8', 'fd00::/8'].map((cidr) => ({ cidr, except: [] })),
      },
      nodes: [{}],
      ports: undefined,
      flaw: undefined,
    });
  });

  test('names ports by number, range and name, in both versions of the API', () => {
    const protocols = [
      { tcp: { destinationPort: { number: 80 } } },
      { udp: { destinationPort: { range: { start: 53, end: 54 } } } },
      { sctp: {} },
      { destinationNamedPort: 'web' },
    ];
    const named = (['tcp', 'udp', 'sctp'] as const).map((protocol) => ({ protocol, port: 'web' }));
    const [first] = admin({ ingress: [{ action: 'Accept', from: [everyPod], protocols }] }).ingress ?? [];
    const listed = [
      { protocol: 'tcp', port: 80 },
      { protocol: 'udp', port: 53, endPort: 54 },
    ];
    assert.deepEqual(first?.ports, [...listed, { protocol: 'sctp' }, ...named]);
    const ports = [
      { portNumber: { protocol: 'TCP', port: 80 } },
      { portRange: { protocol: 'UDP', start: 53, end: 54 } },
      { namedPort: 'web' },
    ];
    const raw = {
      metadata,
      spec: { priority: 3, subject: everyPod, ingress: [{ action: 'Allow', from: [everyPod], ports }] },
    };
    const [second] = parseAdminRules(raw).ingress ?? [];
    assert.deepEqual([second?.action, second?.ports], ['Accept', [...listed, ...named]]);
    assert.equal(parseBaselineRules(raw).tier, 'Baseline');
  });

  for (const [what, part] of [
    ['peer', { from: [everyPod, { other: {} }] }],
    ['protocol', { from: [everyPod], protocols: [{ icmp: {} }] }],
    ['port', { from: [everyPod], protocols: [{ tcp: { destinationPort: { label: 'a' } } }] }],
    ['peer of the other direction', { from: [{ networks: ['10.0.0.0/8'] }] }],
  ] as const)
    test(`fails closed where it does not know a ${what}`, () => {
      const rules = (['Accept', 'Deny', 'Pass'] as const).map((action) => ({ action, ...part }));
      const [accept, deny, pass] = admin({ ingress: rules }).ingress ?? [];
      assert.deepEqual(accept?.peers, { pods: [], blocks: [] });
      assert.match(accept.flaw ?? '', /accepts nothing/);
      for (const rule of [deny, pass]) {
        assert.deepEqual([rule?.action, rule?.peers.blocks, rule?.ports], ['Deny', everything, undefined]);
        assert.match(rule?.flaw ?? '', /denies everything/);
      }
    });

  test('denies everything by a rule with an unknown action', () => {
    const [rule] = admin({ ingress: [{ action: 'Log', from: [everyPod] }] }).ingress ?? [];
    assert.deepEqual([rule?.action, rule?.peers.blocks], ['Deny', everything]);
  });

  test('accepts domain names, each once in any writing, beside other peers', () => {
    const to = [
      { domainNames: ['www.example.com', 'Example.com.'] },
      { networks: ['192.0.2.0/24'] },
      { domainNames: ['example.com'] },
    ];
    const [rule] = admin({ egress: [{ action: 'Accept', to }] }).egress ?? [];
    const blocks = [{ cidr: '192.0.2.0/24', except: [] }];
    assert.deepEqual(rule?.peers, { pods: [], blocks, domains: ['example.com', 'www.example.com'] });
    assert.equal(rule.flaw, undefined);
  });

  test('accepts domain names with * as their first label, and no others', () => {
    const domainNames = ['*.Example.com.', 'example.org', '*.com', '*', 'a.*.example.com', '*a.example.com'];
    const [rule] = admin({ egress: [{ action: 'Accept', to: [{ domainNames }] }] }).egress ?? [];
    assert.deepEqual(rule?.peers.domains, ['*.example.com', 'example.org']);
    assert.match(rule.flaw ?? '', /^to\[0\]\.domainNames: "\*\.com" is not a domain name, and matches nothing$/);
  });

  test('matches nothing by what is no domain name, and keeps the others', () => {
    const to = [{ domainNames: ['example.org', '$(reboot)'] }];
    const [rule] = admin({ egress: [{ action: 'Accept', to }] }).egress ?? [];
    assert.deepEqual(rule?.peers.domains, ['example.org']);
    assert.match(rule.flaw ?? '', /^to\[0\]\.domainNames: "\$\(reboot\)" is not a domain name, and matches nothing$/);
  });

  test('knows no domain names of sources', () => {
    const from = [{ domainNames: ['example.com'] }];
    const [rule] = admin({ ingress: [{ action: 'Accept', from }] }).ingress ?? [];
    assert.deepEqual(rule?.peers, { pods: [], blocks: [] });
    assert.match(rule.flaw ?? '', /from\[0\]/);
  });

  for (const action of ['Deny', 'Pass'])
    test(`denies everything by domain names with ${action}`, () => {
      const to = [{ networks: ['10.0.0.0/8'] }, { domainNames: ['example.com'] }];
      const [rule] = admin({ egress: [{ action, to }] }).egress ?? [];
      assert.deepEqual([rule?.action, rule?.peers], ['Deny', { pods: [], blocks: everything }]);
      assert.match(
        rule?.flaw ?? '',
        /^to\[1\]\.domainNames with (?:Deny|Pass) is not known; the rule denies everything$/,
      );
    });

  for (const subject of [{ namespaces: null }, { pods: null }, {}, null])
    test(`selects no pod by the subject ${JSON.stringify(subject)}`, () => {
      assert.equal(admin({ subject }).subject, undefined);
      const [rule] = admin({ ingress: [{ action: 'Deny', from: [subject] }] }).ingress ?? [];
      assert.deepEqual(rule?.peers.blocks, everything);
    });

  for (const from of [
    { namespaces: { namespaceSelector: { matchLabels: { a: '1' } } } },
    { namespaces: { matchExpressions: [{ key: 'a', operator: 'in', values: ['1'] }] } },
    { namespaces: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [] }] } },
    { pods: { namespaces: {}, podSelector: {} } },
  ])
    test(`fails closed for ${JSON.stringify(from)}`, () => {
      const [rule] = admin({ ingress: [{ action: 'Accept', from: [from] }] }).ingress ?? [];
      assert.deepEqual(rule?.peers, { pods: [], blocks: [] });
      assert.equal(admin({ subject: from }).subject, undefined);
    });
});
