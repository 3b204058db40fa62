import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer } from '../../../lib/dns/message.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { parseClusterRules } from '../../../lib/policies/parse-cluster.ts';
import { parseEndpointSlice, parseService } from '../../../lib/services/parse.ts';
import { leftOf } from '../../model/domain.ts';
import { planKey, reportKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { allApplied } from '../../testing-reports.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { clusterPolicy } from '../../watch/network-policies.ts';
import { parseServiceCidr } from '../../watch/networks.ts';
import { parseNamespace, parseNode, parsePod } from '../../watch/workloads.ts';
import { dnsServers, mostServers } from './dns-servers.ts';
import { mostNames } from './domain-names.ts';

const server = '192.0.2.53:53';
const startMs = 1_700_000_000_000;

function start(): TestCluster {
  const cluster = new TestCluster({ aclTier: true, ipv6Selection: true, loadBalancers: true });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  vpc(cluster, 'blue', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16,fd00:10::/112' }, created(1));
  subnet(cluster, 'blue-net', { cidrBlock: '10.99.0.0/16', vpc: 'blue' }, created(1));
  const status = {
    addresses: [
      { type: 'InternalIP', address: '172.30.0.1' },
      { type: 'ExternalIP', address: '203.0.113.9' },
    ],
  };
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1'), status }));
  cluster.change(
    'serviceCidrs',
    'kubernetes',
    parseServiceCidr({ metadata: meta('kubernetes'), spec: { cidrs: ['10.96.0.0/16'] } }),
  );
  cluster.change('namespaces', 'a', parseNamespace({ metadata: meta('a') }));
  cluster.change('pods', 'a/web', parsePod({ metadata: meta('web', { namespace: 'a' }), spec: { nodeName: 'n1' } }));
  cluster.restore(new Map());
  cluster.settle();
  return cluster;
}

function policy(cluster: TestCluster, name: string, domainNames: readonly string[] | undefined, age = 1): void {
  const egress = [{ name: 'out', action: 'Accept', to: [{ domainNames }] }];
  const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, egress };
  const raw = { metadata: meta(name, created(age)), spec };
  const value = domainNames && clusterPolicy(raw, parseClusterRules(raw));
  cluster.change('clusterNetworkPolicies', name, value);
}

const addresses = (...list: readonly string[]): Answer => ({
  kind: 'addresses',
  addresses: list.map((address) => ({ address, ttlSeconds: 30 })),
});
const none = (exists: boolean): Answer => ({ kind: 'none', exists, ttlSeconds: 5 });

function answer(cluster: TestCluster, name: string, family: Family, value: Answer, seconds = 0): void {
  cluster.domains.answered({ name, family, server, answer: value }, startMs + seconds * 1000);
}

/** The addresses of the sets of a name: for new connections, and all. */
function setsOf(cluster: TestCluster, name: string): readonly unknown[] {
  return planKey(cluster, `domain-name/${name}`).rows.map(({ columns }) => columns['addresses']);
}

function readyOf(cluster: TestCluster, name: string): string {
  const [report] = reportKey(cluster, `cluster-policy/ClusterNetworkPolicy/${name}`, allApplied);
  const ready = report?.status?.conditions.find(({ type }) => type === 'Ready');
  return `${ready?.reason ?? ''} ${ready?.message ?? ''}`;
}

function eventsOf(cluster: TestCluster, name: string): readonly string[] {
  const [report] = reportKey(cluster, `cluster-policy/ClusterNetworkPolicy/${name}`, allApplied);
  return (report?.status?.events ?? []).map(({ reason }) => reason);
}

describe('a domain name', () => {
  test('has rows as long as a policy names it, and a change of addresses plans nothing else', () => {
    const cluster = start();
    policy(cluster, 'one', ['Example.com']);
    policy(cluster, 'two', ['example.com.', 'example.org']);
    cluster.settle();
    answer(cluster, 'example.com', 4, addresses('192.0.2.1'));
    answer(cluster, 'example.com', 6, addresses('2001:db8::1'));
    const dirty = cluster.settle();
    assert.deepEqual(
      [...dirty].filter((key) => !key.startsWith('cluster-policy/')),
      ['domain-name/example.com'],
    );
    assert.deepEqual(setsOf(cluster, 'example.com'), [['192.0.2.1'], ['192.0.2.1'], ['2001:db8::1'], ['2001:db8::1']]);
    answer(cluster, 'example.com', 4, addresses('192.0.2.1', '192.0.2.2'), 30);
    assert.deepEqual([...cluster.settle()], ['domain-name/example.com']);
    policy(cluster, 'one', undefined);
    cluster.settle();
    assert.equal(setsOf(cluster, 'example.com').length, 4);
    policy(cluster, 'two', ['example.org']);
    assert.ok(cluster.settle().has('domain-name/example.com'));
    assert.deepEqual(setsOf(cluster, 'example.com'), []);
    answer(cluster, 'example.com', 4, addresses('192.0.2.1'), 40);
    assert.deepEqual([...cluster.settle()], []);
  });

  test('is after a restart what it was before', () => {
    const before = start();
    policy(before, 'one', ['example.com']);
    answer(before, 'example.com', 4, addresses('192.0.2.1'));
    answer(before, 'example.com', 4, addresses('192.0.2.2'), 60);
    const { rows } = planKey(before, 'domain-name/example.com');
    assert.deepEqual(setsOf(before, 'example.com').slice(0, 2), [['192.0.2.2'], ['192.0.2.1', '192.0.2.2']]);
    const left = leftOf(rows[1]?.columns['external_ids'] as Record<string, string>);
    const after = start();
    policy(after, 'one', ['example.com']);
    after.domains.restore(new Map([['example.com', { current: ['192.0.2.2'], left }]]), startMs + 90_000);
    assert.deepEqual(planKey(after, 'domain-name/example.com').rows, rows);
    answer(after, 'example.com', 4, { kind: 'failed', reason: 'SERVFAIL' }, 91);
    assert.deepEqual(planKey(after, 'domain-name/example.com').rows, rows);
  });

  test('cannot have addresses of the cluster, nor special ones', () => {
    const cluster = start();
    policy(cluster, 'one', ['example.com']);
    for (const [address, what] of [
      ['10.16.0.2', 'in Subnet ovn-default'],
      ['100.64.0.2', 'in Subnet join'],
      ['10.99.0.2', 'in Subnet blue-net'],
      ['172.30.0.1', 'of node n1'],
      ['203.0.113.9', 'of node n1'],
      ['10.96.0.1', 'of a Service, whose pods are to be named instead'],
      ['127.0.0.1', 'for loopback'],
      ['169.254.169.254', 'for one link'],
      ['224.0.0.1', 'for multicast'],
      ['0.0.0.0', 'for this host'],
    ] as const) {
      answer(cluster, 'example.com', 4, addresses(address, '192.0.2.1'));
      assert.match(
        readyOf(cluster, 'one'),
        new RegExp(`^AddressRefused spec.egress\\[0\\] \\(out\\): .*${address} is ${what}`),
      );
    }
    for (const [address, what] of [
      ['::1', 'for this host'],
      ['fe80::1', 'for one link'],
      ['fd00:10::5', 'in Subnet ovn-default'],
      ['fd00:ec2::254', 'of the metadata of machines'],
      ['64:ff9b::a9fe:a9fe', 'for one link (it leads to 169.254.169.254)'],
      ['64:ff9b::ac1e:1', 'of node n1 (it leads to 172.30.0.1)'],
      ['64:ff9b::a63:2', 'in Subnet blue-net (it leads to 10.99.0.2)'],
      ['64:ff9b::a60:1', 'of a Service, whose pods are to be named instead (it leads to 10.96.0.1)'],
      ['2002:ac1e:1::5', 'of node n1 (it leads to 172.30.0.1)'],
      ['2002:7f00:1::', 'for loopback (it leads to 127.0.0.1)'],
      ['64:ff9b:1::c000:201', 'for NAT64 of one network'],
      ['::ffff:10.16.0.2', 'for IPv4 inside of one host'],
    ] as const) {
      answer(cluster, 'example.com', 4, addresses('192.0.2.1'));
      answer(cluster, 'example.com', 6, addresses(address));
      assert.ok(readyOf(cluster, 'one').includes(`is ${what}`), `${address}: ${readyOf(cluster, 'one')}`);
    }
    assert.deepEqual(setsOf(cluster, 'example.com'), [['192.0.2.1'], ['192.0.2.1'], [], []]);
    answer(cluster, 'example.com', 6, addresses('64:ff9b::c000:201', '2002:c000:201::1'));
    assert.deepEqual(setsOf(cluster, 'example.com')[2], ['2002:c000:201::1', '64:ff9b::c000:201']);
    assert.match(readyOf(cluster, 'one'), /^PolicyReady /);
  });

  test('cannot have an address of a Service, with or without ranges of these, from the next answer on', () => {
    const cluster = start();
    cluster.change('serviceCidrs', 'kubernetes', undefined);
    policy(cluster, 'one', ['example.com']);
    const all = ['10.97.0.1', '192.0.2.1', '198.51.100.1', '198.51.100.2'];
    answer(cluster, 'example.com', 4, addresses(...all));
    assert.deepEqual(setsOf(cluster, 'example.com')[0], all);
    const metadata = meta('web', { namespace: 'a' });
    const spec = { type: 'LoadBalancer', clusterIPs: ['10.97.0.1'], externalIPs: ['198.51.100.1'], ports: [] };
    const status = { loadBalancer: { ingress: [{ ip: '198.51.100.2' }] } };
    cluster.change('services', 'a/web', parseService({ metadata, spec, status }));
    answer(cluster, 'example.com', 4, addresses(...all), 40);
    assert.deepEqual(setsOf(cluster, 'example.com')[0], ['192.0.2.1']);
    for (const address of ['10.97.0.1', '198.51.100.1', '198.51.100.2']) {
      answer(cluster, 'example.com', 4, addresses(address), 50);
      assert.ok(readyOf(cluster, 'one').includes(`${address} is of a Service`), readyOf(cluster, 'one'));
    }
    cluster.change('services', 'a/web', undefined);
    answer(cluster, 'example.com', 4, addresses(...all), 60);
    assert.deepEqual(setsOf(cluster, 'example.com')[0], all);
  });

  test('names the same refused address whichever server answers first', () => {
    const servers = ['192.0.2.53:53', '192.0.2.54:53'];
    const messages = [servers, servers.toReversed()].map((order) => {
      const cluster = start();
      policy(cluster, 'one', ['example.com']);
      cluster.domains.setServers(servers);
      for (const from of order) {
        const value = addresses(from === server ? '172.30.0.1' : '10.16.0.2');
        cluster.domains.answered({ name: 'example.com', family: 4, server: from, answer: value }, startMs);
      }
      return readyOf(cluster, 'one');
    });
    assert.match(messages[0] ?? '', /10\.16\.0\.2 is in Subnet ovn-default/);
    assert.equal(messages[0], messages[1]);
  });

  test('of pods or a headless Service has their addresses', () => {
    const cluster = start();
    const name = 'db.a.svc.cluster.local';
    policy(cluster, 'one', [name]);
    answer(cluster, name, 4, addresses('10.16.0.2', '172.30.0.1', '10.96.0.1'));
    assert.deepEqual(setsOf(cluster, name)[0], ['10.16.0.2']);
    assert.match(readyOf(cluster, 'one'), /^AddressRefused .*10\.96\.0\.1 is of a Service/);
  });

  test('is ready once both families are answered', () => {
    const cluster = start();
    policy(cluster, 'one', ['example.com']);
    assert.match(readyOf(cluster, 'one'), /^DomainNamesPending /);
    assert.deepEqual(eventsOf(cluster, 'one'), []);
    answer(cluster, 'example.com', 4, addresses('192.0.2.1'));
    assert.match(readyOf(cluster, 'one'), /^DomainNamesPending /);
    answer(cluster, 'example.com', 6, none(true));
    assert.match(readyOf(cluster, 'one'), /^PolicyReady /);
    answer(cluster, 'example.com', 4, none(false), 60);
    answer(cluster, 'example.com', 6, none(false), 60);
    assert.match(readyOf(cluster, 'one'), /^DomainNameNotFound .*example\.com does not exist/);
    assert.deepEqual(eventsOf(cluster, 'one'), ['DomainNameNotFound']);
    answer(cluster, 'example.com', 4, none(true), 61);
    assert.match(readyOf(cluster, 'one'), /^DomainNameNotFound .*example\.com has no address/);
  });

  test('is not resolved if no server answers, or there is none', () => {
    const cluster = start();
    policy(cluster, 'one', ['example.com']);
    cluster.domains.setServers(['192.0.2.53:53', '192.0.2.54:53']);
    const failed: Answer = { kind: 'failed', reason: 'no answer within 3 s' };
    answer(cluster, 'example.com', 4, failed);
    assert.match(readyOf(cluster, 'one'), /^DomainNamesNotResolved .*192\.0\.2\.53:53: no answer within 3 s/);
    cluster.domains.answered({ name: 'example.com', family: 4, server: '192.0.2.54:53', answer: none(true) }, startMs);
    assert.match(readyOf(cluster, 'one'), /^DomainNamesPending /);
    cluster.domains.setServers([]);
    assert.match(readyOf(cluster, 'one'), /^DomainNamesNotResolved .*kube-dns has no ready endpoint/);
    answer(cluster, 'example.com', 4, addresses('192.0.2.1'));
    assert.deepEqual(setsOf(cluster, 'example.com')[0], [], 'nobody was asked');
  });

  test('is asked about if it is one of the first thousand, by the age of the policies', () => {
    const cluster = start();
    policy(cluster, 'new', ['new.test'], 9);
    const many = Array.from({ length: mostNames - 1 }, (_, index) => `n${index}.test`);
    policy(cluster, 'old', many, 1);
    assert.ok(cluster.domains.asked.has('new.test'));
    policy(cluster, 'middle', ['middle.test'], 5);
    assert.deepEqual(
      ['new.test', 'middle.test', 'n7.test'].map((name) => cluster.domains.asked.has(name)),
      [false, true, true],
    );
    assert.match(readyOf(cluster, 'new'), /^TooManyDomainNames .*new\.test/);
    policy(cluster, 'old', ['n7.test'], 1);
    assert.ok(cluster.domains.asked.has('new.test'));
    assert.match(readyOf(cluster, 'new'), /^DomainNamesPending /);
  });
});

test('the servers are the ready endpoints of the Service of DNS', () => {
  const cluster = start();
  assert.deepEqual(dnsServers(cluster), { asked: [], left: [] });
  const metadata = meta('kube-dns', { namespace: 'kube-system' });
  const ports = [
    { name: 'dns', protocol: 'UDP', port: 53 },
    { name: 'dns-tcp', protocol: 'TCP', port: 53 },
    { name: 'metrics', protocol: 'TCP', port: 9153 },
  ];
  const spec = { type: 'ClusterIP', clusterIPs: ['10.96.0.10'], ipFamilies: ['IPv4'], ports };
  cluster.change('services', 'kube-system/kube-dns', parseService({ metadata, spec }));
  const slice = {
    metadata: meta('kube-dns-x', { namespace: 'kube-system', labels: { 'kubernetes.io/service-name': 'kube-dns' } }),
    addressType: 'IPv4',
    ports: [{ name: 'dns', protocol: 'UDP', port: 1053 }],
    endpoints: [
      { addresses: ['10.16.0.9'], conditions: { ready: true } },
      { addresses: ['10.16.0.8'], conditions: { ready: false } },
      { addresses: ['10.16.0.7'], conditions: { ready: true } },
    ],
  };
  cluster.change('endpointSlices', 'kube-system/kube-dns-x', parseEndpointSlice(slice));
  const found = [
    { address: '10.16.0.7', port: 1053 },
    { address: '10.16.0.9', port: 1053 },
  ];
  assert.deepEqual(dnsServers(cluster), { asked: found, left: [] });
  const texts = Array.from({ length: mostServers + 2 }, (_, index) => `10.16.0.${index + 10}`);
  for (const order of [texts, texts.toReversed()]) {
    const endpoints = order.map((address) => ({ addresses: [address], conditions: { ready: true } }));
    cluster.change('endpointSlices', 'kube-system/kube-dns-x', parseEndpointSlice({ ...slice, endpoints }));
    const { asked, left } = dnsServers(cluster);
    assert.deepEqual(
      [...asked, ...left].map(({ address }) => address),
      texts,
    );
    assert.deepEqual(
      left.map(({ address }) => address),
      ['10.16.0.26', '10.16.0.27'],
    );
  }
});
