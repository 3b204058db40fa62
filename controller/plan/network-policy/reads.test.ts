/** After random changes, the plans of the dirty keys alone lead to the rows of a full plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Desired } from '../../../lib/desired/row.ts';
import { label } from '../../../lib/api/names.ts';
import { remotePeerOf } from '../../../lib/policies/remote-peers.ts';
import { remotePodSets } from '../../../lib/slices/remote-pods.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseClusterRules } from '../../../lib/policies/parse-cluster.ts';
import { clusterPolicy, parseNetworkPolicy } from '../../watch/network-policies.ts';
import { parseNamespace, parseNode, parsePod } from '../../watch/workloads.ts';
import { planKey } from '../plan.ts';

const domains = ['a.shop.test', 'b.shop.test'];
const pattern = '*.shop.test';
const others = ['north', 'west'];
const relevant = /^(?:pod|peer|remote-peer|network-policy|cluster-policy|selection|domain-name|isolation|node)\//;

function start(): TestCluster {
  const cluster = new TestCluster({ aclTier: true, ipv6Selection: true, loadBalancers: true });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  vpc(cluster, 'blue', { namespaces: ['c'] }, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  subnet(cluster, 'blue-net', { cidrBlock: '10.17.0.0/16', vpc: 'blue', namespaces: ['c'] }, created(1));
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1') }));
  return cluster;
}

type Entry = readonly [
  'askedDomains' | 'remotePods' | 'namespaces' | 'pods' | 'nodes' | 'networkPolicies' | 'clusterNetworkPolicies',
  string,
  unknown,
];

function rowsOf(plans: ReadonlyMap<string, Desired>): readonly string[] {
  return [...plans]
    .filter(([key, { rows, contributions = [] }]) => relevant.test(key) && rows.length + contributions.length > 0)
    .map(([key, plan]) => `${key} ${JSON.stringify(plan)}`)
    .sort();
}

for (const seed of [1, 2, 3])
  test(`with seed ${seed}`, () => {
    const random = randomOf(seed);
    const cluster = start();
    const objects = new Map<string, Entry>();
    const plans = new Map<string, Desired>();
    const put = (kind: Entry[0], name: string, value: unknown): void => {
      if (value === undefined) objects.delete(`${kind}/${name}`);
      else objects.set(`${kind}/${name}`, [kind, name, value]);
      cluster.change(kind, name, value as never);
    };
    const space = (): string => pick(random, ['a', 'b', 'c']);
    const labels = (): Record<string, string> => ({ app: pick(random, ['x', 'y']) });
    const selector = (): object => pick(random, [{}, { matchLabels: labels() }]);
    const clusters = (): object =>
      pick<object>(random, [
        {},
        {},
        { matchLabels: { ...labels(), [label.cluster]: pick(random, others) } },
        { matchExpressions: [{ key: label.cluster, operator: 'Exists' }] },
      ]);
    const port = (): object =>
      pick<object>(random, [{ port: 80 }, { port: 'http' }, { protocol: 'UDP', port: 'http' }]);
    const rule = (peers: string): object => ({
      ...(random(3) > 0 && {
        [peers]: [
          pick(random, [{ podSelector: selector() }, { namespaceSelector: clusters(), podSelector: clusters() }]),
        ],
      }),
      ...(random(2) > 0 && { ports: [port()] }),
    });
    for (const name of ['a', 'b', 'c']) put('namespaces', name, parseNamespace({ metadata: meta(name) }));
    cluster.restore(new Map());
    for (let step = 0; step < 400; step += 1) {
      const namespace = space();
      const name = `${namespace}-${random(4)}`;
      const what = random(12);
      if (what === 0) {
        put('namespaces', namespace, parseNamespace({ metadata: meta(namespace, { labels: labels() }) }));
      } else if (what < 4) {
        const isGone = random(4) === 0;
        const ports = random(2) === 0 ? [] : [{ name: 'http', containerPort: pick(random, [80, 81]) }];
        const metadata = meta(name, { namespace, labels: labels(), ...created(3) });
        const raw = { metadata, spec: { nodeName: 'n1', containers: [{ ports }] } };
        put('pods', `${namespace}/${name}`, isGone ? undefined : parsePod(raw));
      } else if (what === 8) {
        const status = { addresses: [{ type: 'InternalIP', address: `172.30.1.${1 + random(3)}` }] };
        put('nodes', 'n1', parseNode({ metadata: meta('n1', { labels: labels() }), status }));
      } else if (what > 8) {
        const isGone = random(4) === 0;
        const pods = (): object => ({ namespaceSelector: clusters(), podSelector: selector() });
        const end = (): object => pick(random, [{ namespaces: selector() }, { pods: pods() }]);
        const clusterRule = (peers: string, more: readonly object[]): object => ({
          action: pick(random, ['Accept', 'Deny', 'Pass']),
          [peers]: [pick(random, [end(), ...more])],
          ...(random(2) > 0 && {
            protocols: [
              pick<object>(random, [{ tcp: { destinationPort: { number: 80 } } }, { destinationNamedPort: 'http' }]),
            ],
          }),
        });
        const outside = [
          { nodes: selector() },
          { networks: ['10.0.0.0/8'] },
          { domainNames: [pick(random, [...domains, pattern])] },
        ];
        const spec = {
          tier: pick(random, ['Admin', 'Baseline']),
          priority: random(3),
          subject: end(),
          ingress: Array.from({ length: random(3) }, () => clusterRule('from', [])),
          egress: Array.from({ length: random(3) }, () => clusterRule('to', outside)),
        };
        const raw = { metadata: meta(name, created(3 + random(3))), spec };
        put('clusterNetworkPolicies', name, isGone ? undefined : clusterPolicy(raw, parseClusterRules(raw)));
      } else {
        const isGone = random(4) === 0;
        const spec = {
          podSelector: selector(),
          policyTypes: pick(random, [['Ingress'], ['Egress'], ['Ingress', 'Egress']]),
          ingress: Array.from({ length: random(3) }, () => rule('from')),
          egress: Array.from({ length: random(3) }, () => rule('to')),
        };
        const metadata = meta(name, { namespace, ...created(3) });
        put('networkPolicies', `${namespace}/${name}`, isGone ? undefined : parseNetworkPolicy({ metadata, spec }));
      }
      if (random(6) === 0) {
        const west = pick(random, others);
        const sets = [...cluster.policies.peers()].flatMap((peer) => remotePeerOf(peer)?.set ?? []);
        const entries = sets.flatMap((set) =>
          ['', '10.18.0.2', '10.18.0.3', 'fd00::2'].flatMap((address) =>
            random(3) > 0 ? [{ set, vpc: address === '' ? '' : pick(random, ['ovn-cluster', 'blue']), address }] : [],
          ),
        );
        put('remotePods', west, random(6) === 0 ? undefined : remotePodSets(entries));
      }
      if (random(4) === 0) {
        const asked = domains.filter(() => random(2) > 0).map((one) => ({ name: one, namespace: 'a', since: 1 }));
        put('askedDomains', pick(random, ['n1', 'n2']), random(4) === 0 ? undefined : asked);
      }
      const addresses = [{ address: `192.0.2.${random(4)}`, ttlSeconds: random(60) }];
      const answer = {
        name: pick(random, domains),
        family: 4,
        server: '192.0.2.53:53',
        answer: { kind: 'addresses', addresses },
      } as const;
      cluster.domains.answered(answer, step * 10_000);
      cluster.domains.advance(step * 10_000 + 5000);
      for (const key of cluster.settle()) plans.set(key, planKey(cluster, key));
      const all = new Map([...plans.keys()].map((key) => [key, planKey(cluster, key)]));
      assert.deepEqual(rowsOf(plans), rowsOf(all), `step ${step}`);
    }
    // A cluster that sees everything for the first time has no other keys with rows.
    const fresh = start();
    for (const [kind, name, value] of objects.values()) fresh.change(kind, name, value as never);
    fresh.restore(new Map());
    const first = new Map([...fresh.settle()].map((key) => [key, planKey(fresh, key)]));
    const keysOf = (rows: readonly string[]): readonly string[] => rows.map((text) => text.slice(0, text.indexOf(' ')));
    assert.deepEqual(keysOf(rowsOf(plans)), keysOf(rowsOf(first)));
  });
