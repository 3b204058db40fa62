import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { TestDns } from '../../lib/dns/testing.ts';
import { parseClusterRules } from '../../lib/policies/parse-cluster.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { Cluster } from '../settle/cluster.ts';
import { meta } from '../testing-vpcs.ts';
import { clusterPolicy } from '../watch/network-policies.ts';
import { DomainWatch, parseServers } from './domain-names.ts';

let dns: TestDns;
before(async () => {
  dns = await TestDns.start();
});
after(() => dns.close());

test('servers are addresses with or without a port', () => {
  assert.equal(parseServers([]), undefined);
  assert.deepEqual(parseServers(['192.0.2.1', '192.0.2.1:5353', '[2001:DB8::1]:54', '2001:db8::1']), [
    { address: '192.0.2.1', port: 53 },
    { address: '192.0.2.1', port: 5353 },
    { address: '2001:db8::1', port: 54 },
    { address: '2001:db8::1', port: 53 },
  ]);
  for (const text of ['dns.test', '192.0.2.1:0', '192.0.2.1:65536', '192.0.2.1:', '[192.0.2.1', ':53', '192.0.2.1:5 3'])
    assert.throws(() => parseServers([text]), /is no address and no address:port/, text);
});

function policy(cluster: Cluster, ...domainNames: readonly string[]): void {
  const spec = { subject: { namespaces: {} }, egress: [{ action: 'Accept', to: [{ domainNames }] }] };
  const raw = { metadata: meta('one'), spec };
  cluster.change('clusterNetworkPolicies', 'one', clusterPolicy(raw, parseClusterRules(raw)));
}

function open(cluster: Cluster, isConfigured = false, log = pino({ enabled: false })) {
  const ending = new AbortController();
  const changes = { count: 0 };
  const watch = new DomainWatch({
    cluster,
    servers: isConfigured ? [dns.server] : undefined,
    signal: ending.signal,
    log,
    onChange: () => (changes.count += 1),
  });
  const close = (): void => {
    watch.close();
    ending.abort();
  };
  return { watch, changes, close };
}

function serveDns(cluster: Cluster, addresses: readonly string[], port: number): void {
  const metadata = meta('kube-dns', { namespace: 'kube-system' });
  const ports = [{ name: 'dns', protocol: 'UDP', port: 53 }];
  const spec = { type: 'ClusterIP', clusterIPs: ['10.96.0.10'], ipFamilies: ['IPv4'], ports };
  cluster.change('services', 'kube-system/kube-dns', parseService({ metadata, spec }));
  const labels = { 'kubernetes.io/service-name': 'kube-dns' };
  const slice = parseEndpointSlice({
    metadata: meta('kube-dns-x', { namespace: 'kube-system', labels }),
    addressType: 'IPv4',
    ports: [{ name: 'dns', protocol: 'UDP', port }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  });
  cluster.change('endpointSlices', 'kube-system/kube-dns-x', slice);
}

test('a start waits for the answers, and new names are asked afterwards', async () => {
  dns.zones.set('a.test', { addresses: ['192.0.2.1'], ttl: 300 });
  dns.zones.set('b.test', { addresses: ['192.0.2.2'], ttl: 300 });
  const cluster = new Cluster();
  policy(cluster, 'a.test');
  const { watch, changes, close } = open(cluster, true);
  await watch.start();
  assert.deepEqual(cluster.domains.record('a.test').current, ['192.0.2.1']);
  const before = changes.count;
  policy(cluster, 'a.test', 'b.test');
  await eventually('the answer', () => cluster.domains.record('b.test').current.length === 1);
  assert.ok(changes.count > before);
  close();
});

test('the endpoints of the Service of DNS are asked, when there are some', async () => {
  dns.zones.set('a.test', { addresses: ['192.0.2.1'], ttl: 300 });
  const cluster = new Cluster();
  policy(cluster, 'a.test');
  const { watch, close } = open(cluster);
  await watch.start();
  assert.equal(cluster.domains.problem('a.test')?.code, 'DomainNamesNotResolved');
  serveDns(cluster, [dns.server.address], dns.server.port);
  await eventually('the answer', () => cluster.domains.record('a.test').current.length === 1);
  assert.equal(cluster.domains.problem('a.test'), undefined);
  close();
});

test('a start does not wait for long for a server that is silent', async () => {
  dns.isSilent = true;
  const cluster = new Cluster();
  policy(cluster, 'a.test');
  const { watch, close } = open(cluster, true);
  await watch.start();
  assert.match(cluster.domains.problem('a.test')?.message ?? '', /no answer within 3 s/);
  dns.isSilent = false;
  close();
});

test('endpoints of the Service of DNS that are too many are named in the log', async () => {
  const cluster = new Cluster();
  policy(cluster, 'a.test');
  const lines: { readonly level: number; readonly servers?: readonly string[]; readonly msg: string }[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const { watch, close } = open(cluster, false, log);
  await watch.start();
  const addresses = Array.from({ length: 17 }, (_, index) => `127.0.1.${index + 10}`);
  serveDns(cluster, addresses, dns.server.port);
  await eventually('the line', () => lines.length > 0);
  serveDns(cluster, addresses.toReversed(), dns.server.port);
  await new Promise(setImmediate);
  assert.deepEqual(
    lines.map(({ servers }) => servers),
    [[`127.0.1.26:${dns.server.port}`]],
  );
  assert.match(lines[0]?.msg ?? '', /more than 16 endpoints/);
  close();
});
