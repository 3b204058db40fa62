/** Golden files of flowcharts. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { RawObject } from '../../../lib/kube/types.ts';
import { graphOf, type GraphNode, type PolicyGraph } from '../../plan/network-policy/graph.ts';
import { parseNamespaceName } from '../../commands/policy/graph.ts';
import type { ClusterReading } from '../../model/policy-reading.ts';
import {
  clusterOf,
  clusterPolicyOf,
  closed,
  namespaceOf,
  noCluster,
  podOf,
  podsOf,
  policyOf,
} from '../../testing-policies.ts';
import { drawPolicyGraph, escaped } from './graph.ts';

function textOf(graph: PolicyGraph): string {
  return drawPolicyGraph(graph).text;
}

function matches(
  context: TestContext,
  name: string,
  pods: readonly RawObject[],
  policies: readonly RawObject[],
  ofCluster: ClusterReading = noCluster,
): void {
  const text = textOf(graphOf({ ...namespaceOf(pods, policies), ...ofCluster }));
  context.assert.fileSnapshot(text, join(import.meta.dirname, 'testdata', `${name}.txt`), { serializers: [String] });
}

const app = (name: string) => ({ podSelector: { matchLabels: { app: name } } });

test('a shop with rules for each workload', (t) =>
  matches(
    t,
    'graph',
    [
      ...podsOf({ kind: 'Deployment', name: 'web' }, 3),
      ...podsOf({ kind: 'StatefulSet', name: 'db' }, 2, { ips: ['10.16.0.9'] }),
      podOf('tool', { ips: ['10.16.0.7'] }),
      podOf('agent', { spec: { hostNetwork: true } }),
      podOf('new', { ips: [] }),
    ],
    [
      closed('Ingress'),
      policyOf('web', {
        ...app('web'),
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          { ports: [{ port: 'http' }] },
          { from: [{ namespaceSelector: { matchLabels: { team: 'ops' } } }], ports: [{ port: 9000, endPort: 9100 }] },
        ],
        egress: [
          { to: [app('db')], ports: [{ port: 5432 }] },
          {
            to: [
              {
                namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
                podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
              },
            ],
            ports: [{ port: 53 }, { port: 53, protocol: 'UDP' }],
          },
          { to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }] },
        ],
      }),
      policyOf('db', {
        ...app('db'),
        ingress: [{ from: [app('web')], ports: [{ port: 5432 }] }, { from: [app('db')] }],
      }),
    ],
  ));

test('a namespace without policies', (t) => matches(t, 'graph-open', [podOf('web'), podOf('db')], []));

test('a namespace without pods', (t) => matches(t, 'graph-empty', [], [closed('Ingress')]));

test('policies of the whole cluster', (t) => {
  const ops = { namespaces: { matchLabels: { team: 'ops' } } };
  const everyone = { namespaces: {} };
  const tcp = (number: number) => [{ tcp: { destinationPort: { number } } }];
  const policies = [
    clusterPolicyOf('ClusterNetworkPolicy/gate', {
      ingress: [
        { action: 'Accept', from: [{ namespaces: { matchLabels: { team: 'monitoring' } } }], protocols: tcp(9100) },
        { action: 'Deny', from: [ops] },
        { action: 'Pass', from: [everyone] },
      ],
      egress: [
        { action: 'Deny', to: [{ nodes: {} }, { networks: ['169.254.169.254/32'] }] },
        { action: 'Accept', to: [{ domainNames: ['example.com'] }] },
      ],
    }),
    clusterPolicyOf('ClusterNetworkPolicy/other', {
      subject: ops,
      ingress: [{ action: 'Deny', from: [everyone] }],
    }),
    clusterPolicyOf('BaselineAdminNetworkPolicy/default', {
      ingress: [{ action: 'Deny', from: [everyone], ports: [{ portNumber: { protocol: 'TCP', port: 22 } }] }],
    }),
  ];
  const pods = [podOf('web'), podOf('db', { ips: ['10.16.0.9'] })];
  const own = policyOf('db', { ...app('db'), ingress: [{ from: [app('web')], ports: [{ port: 5432 }] }] });
  const unread = [{ code: 'Forbidden', what: 'adminnetworkpolicies', message: '' }];
  matches(t, 'graph-cluster', pods, [own], { ...clusterOf(policies), unread });
});

test('fifty pods that policies treat alike are few nodes', (t) => {
  const pods = Array.from({ length: 50 }, (_, index) =>
    podOf(`${index < 30 ? 'web' : 'db'}-${index}`, {
      labels: { app: index < 30 ? 'web' : 'db' },
      ips: [`10.16.0.${index + 2}`],
    }),
  );
  const own = policyOf('db', { ...app('db'), ingress: [{ from: [app('web')], ports: [{ port: 5432 }] }] });
  matches(t, 'graph-alike', pods, [own]);
});

test('what is said about rules is limited', () => {
  const flaws = Array.from({ length: 12 }, (_, index) => `ClusterNetworkPolicy p${index}, spec.ingress[0]: x`);
  const text = textOf({ ...graphWith([]), flaws });
  assert.match(text, /^%% to know: ClusterNetworkPolicy p9, .*\n%% to know: 2 more rules, -o json has them$/m);
});

const node = (index: number, label: string): GraphNode => ({
  id: `n${index}`,
  kind: 'workload',
  label,
  pods: [],
  isClosed: false,
});

function graphWith(nodes: readonly GraphNode[], edges: PolicyGraph['edges'] = []): PolicyGraph {
  return { namespace: 'shop', nodes, edges, leftOut: { hostNetwork: 0, withoutAddress: 0 }, flaws: [], unread: [] };
}

describe('labels are texts of others', () => {
  test('what Mermaid, Markdown or HTML could read is a code', () => {
    assert.equal(escaped('Deployment web, 3 pods'), 'Deployment web, 3 pods');
    assert.equal(
      escaped('pods app in (a_b, c.d), !x in namespaces k8s.io/team=a'),
      'pods app in (a_b, c.d), !x in namespaces k8s.io/team=a',
    );
    assert.equal(escaped('fd00:10::/64'), 'fd00:10::/64');
    assert.equal(escaped('a"]; click n1'), 'a#34;#93;#59; click n1');
    assert.equal(escaped('<b>&amp;`*'), '#60;b#62;#38;amp#59;#96;#42;');
    assert.equal(
      escaped('%%{init}%% #35; |$\\{}['),
      '#37;#37;#123;init#125;#37;#37; #35;35#59; #124;#36;#92;#123;#125;#91;',
    );
    assert.equal(escaped('a\nb\r\u2028\u202Ec\uD800'), 'a?b?#8232;?c?');
    assert.equal(escaped('ü😀'), '#252;#128512;');
  });

  test('a label stays in its quotes', () => {
    const label = 'x"]\nn9["y"] --> n1\n%%{init: {"securityLevel": "loose"}}%%';
    const lines = textOf(graphWith([node(1, label)])).split('\n');
    assert.equal(lines.length, 4);
    assert.match(lines[2] ?? '', /^n1\["[A-Za-z0-9 .,:/=()!_?#;-]*"\]$/);
  });

  test('only codes contain the characters of codes', () => {
    for (let code = 0; code < 0x3000; code += 1)
      assert.match(escaped(String.fromCodePoint(code)), /^(?:[A-Za-z0-9 .,:/=()!_?-]|#\d+;)$/, `character ${code}`);
  });

  test('long labels and lists are cut, also within a character', () => {
    const long = textOf(graphWith([node(1, `${'a'.repeat(79)}😀`)]));
    assert.match(long, /^n1\["a{79}\?\.\.\."\]$/m);
    const ports = Array.from({ length: 30 }, (_, index) => `TCP ${index + 1}`);
    const edges = [{ from: 'n1', to: 'n1', ports, isByRule: true, isDenied: false }];
    assert.match(textOf(graphWith([node(1, 'a')], edges)), /^n1 -->\|"TCP 1, .{50,70}\.\.\."\| n1$/m);
  });
});

describe('a graph is limited', () => {
  const nodes = Array.from({ length: 70 }, (_, index) => node(index + 1, `pod ${index}`));
  const ids = nodes.map(({ id }) => id);
  const edges = (ports: readonly string[]) =>
    ids.flatMap((from) => ids.map((to) => ({ from, to, ports, isByRule: true, isDenied: false })));

  test('to nodes that are legible, and links that Mermaid draws', () => {
    const text = textOf(graphWith(nodes, edges(['TCP 80'])));
    assert.equal(text.match(/-->/g)?.length, 500);
    assert.match(text, /^n60\[/m);
    assert.doesNotMatch(text, /n61\b/);
    assert.equal(drawPolicyGraph(graphWith(nodes)).isWhole, false);
    assert.equal(drawPolicyGraph(graphWith(nodes.slice(0, 60))).isWhole, true);
    assert.match(
      text,
      /^%% not drawn: 10 nodes, 4400 links\. .*, -o json has all\ncut\["not drawn: 10 nodes, 4400 links"\]$/m,
    );
  });

  test('to characters that Mermaid reads', () => {
    const quotes = '"'.repeat(100);
    const text = textOf(
      graphWith(
        nodes.map((one) => ({ ...one, label: quotes })),
        edges([quotes]),
      ),
    );
    assert.ok(text.length < 50_000, String(text.length));
    assert.match(text, /^cut\[/m);
  });

  test('and says nothing where everything is drawn', () => {
    assert.doesNotMatch(textOf(graphWith(nodes.slice(0, 60))), /not drawn/);
  });
});

test('the name of a namespace is read', () => {
  assert.equal(parseNamespaceName('shop-1'), 'shop-1');
  for (const bad of ['', 'a/b', 'A', '-a', 'a-', 'a\n', 'a'.repeat(64)])
    assert.throws(() => parseNamespaceName(bad), /NAMESPACE:/);
});
