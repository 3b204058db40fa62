import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Row } from 'ovsdb-client';
import { openDryRun } from '../../lib/desired/dry-run.ts';
import { openOvsdbTarget, type OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import { DirtyKeys } from '../plan/dirty-keys.ts';
import { ownEntries, ownerByName } from '../plan/own-keys.ts';
import { planKey } from '../plan/plan.ts';
import { Cluster } from '../settle/cluster.ts';
import { rule, service } from '../testing-services.ts';
import { created, meta, subnet, vpc } from '../testing-vpcs.ts';
import { parseNamespace } from '../watch/workloads.ts';
import { type Northbound, openNorthbound, room } from './northbound.ts';
import { Rounds } from './rounds.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const count = 60;
const vendor = { vendor: 'kube-ovn' };
const addressOf = (index: number): string => `10.96.${index >> 7}.${1 + (index & 127)}`;
const vips = (protocol: string): readonly string[] =>
  Array.from({ length: count }, (_, index) => index)
    .filter((index) => (index % 2 === 0) === (protocol === 'tcp'))
    .map((index) => `${addressOf(index)}:80`);

let server: TestServer;
let northbound: Northbound;
before(async () => {
  server = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  northbound = await openNorthbound({ remotes: [server.remote] });
});
after(async () => {
  await northbound.client.close();
  await server.stop();
});

function rowsOf(table: string): readonly Row[] {
  return [...northbound.client.cache.table(table).rows.values()];
}

function named(table: string, name: string): Row | undefined {
  return rowsOf(table).find((row) => row['name'] === name);
}

/** Virtual addresses of the switch's load balancers and their groups, with the protocol. */
function served(): ReadonlySet<string> {
  const of = named('Logical_Switch', 'ovn-default');
  const groups = new Set((of?.['load_balancer_group'] ?? []) as readonly string[]);
  const balancers = new Set([
    ...((of?.['load_balancer'] ?? []) as readonly string[]),
    ...rowsOf('Load_Balancer_Group').flatMap((row) =>
      groups.has(row._uuid) ? (row['load_balancer'] as readonly string[]) : [],
    ),
  ]);
  const texts = rowsOf('Load_Balancer')
    .filter(({ _uuid }) => balancers.has(_uuid))
    .flatMap((row) => Object.keys(row['vips'] ?? {}).map((vip) => `${String(row['protocol'])} ${vip}`));
  return new Set(texts);
}

function clusterOf(): Cluster {
  const cluster = new Cluster();
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  for (let index = 0; index < count; index += 1) {
    const protocol = index % 2 === 0 ? 'TCP' : 'UDP';
    service(cluster, `ns/s${index}`, { clusterIPs: [addressOf(index)], ports: [{ port: 80, protocol }] });
  }
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns', created(1)) }));
  rule(cluster, 'web', { vip: '1.1.1.1', namespace: 'ns' }, created(2));
  cluster.restore(northbound.portRecords(), northbound.nodeHolders());
  return cluster;
}

function start(): { readonly rounds: Rounds; readonly target: OvsdbTarget } {
  const cluster = clusterOf();
  const dirty = new DirtyKeys(cluster);
  cluster.onChange((change) => dirty.changed(change));
  const options = { client: northbound.client, room, ownEntries, ownerOf: ownerByName };
  const target = openOvsdbTarget({ ...options, logger: quiet, batchDelayMs: 0, batchSize: 5 });
  const rounds = new Rounds({ cluster, dirty, target, publish: () => undefined });
  rounds.start();
  return { rounds, target };
}

test('virtual addresses of a former Kube-OVN move to rows of their own without an interruption', async () => {
  const theirs = (protocol: string, name: string) => {
    const all = Object.fromEntries(vips(protocol).map((vip) => [vip, '10.16.0.9:8080']));
    return { op: 'insert', table: 'Load_Balancer', row: { name, protocol, vips: all }, uuidName: protocol } as const;
  };
  const [tcp, udp] = [theirs('tcp', 'cluster-tcp-loadbalancer'), theirs('udp', 'cluster-udp-loadbalancer')];
  const others = { '10.96.200.1:80': '10.16.0.10:80', '1.1.1.1:80': '10.16.0.9:8080' };
  const checks = { ip_port_mappings: { '10.16.0.9': 'web.ns:10.16.0.8' }, health_check: [{ named: 'check' }] };
  const check = { vip: '1.1.1.1:80', external_ids: { switch_lb_subnet: 'ovn-default' } };
  await northbound.client.transact([
    { op: 'insert', table: 'Load_Balancer_Health_Check', row: check, uuidName: 'check' },
    { ...tcp, row: { ...tcp.row, vips: { ...tcp.row.vips, ...others }, ...checks } },
    udp,
    {
      op: 'insert',
      table: 'Logical_Switch',
      row: { name: 'ovn-default', load_balancer: [{ named: 'tcp' }, { named: 'udp' }], external_ids: vendor },
    },
  ]);
  const wanted = [
    'tcp 1.1.1.1:80',
    ...vips('tcp').map((vip) => `tcp ${vip}`),
    ...vips('udp').map((vip) => `udp ${vip}`),
  ];
  const gaps: string[] = [];
  let transactions = 0;
  const unwatch = northbound.client.subscribe(() => {
    transactions += 1;
    const there = served();
    for (const vip of wanted) if (!there.has(vip)) gaps.push(vip);
  });
  const before = named('Load_Balancer', 'cluster-tcp-loadbalancer')?._uuid;
  const { rounds, target } = start();
  await rounds.untilApplied();
  unwatch();
  assert.deepEqual(gaps, []);
  assert.ok(transactions > 5, 'in many transactions');
  assert.deepEqual([...served()].sort(), wanted.sort(), 'and an address that nothing has is gone');
  const six = named('Load_Balancer', 'cluster-tcp-loadbalancer');
  assert.deepEqual([six?._uuid, six?.['vips'], six?.['ip_port_mappings']], [before, {}, {}]);
  assert.deepEqual(rowsOf('Load_Balancer_Health_Check'), []);
  rounds.close();
  target.close();
});

test('a restart and a dry run find nothing to write, and the group of a deleted VPC is deleted', async () => {
  const dry = openDryRun({ client: northbound.client, room, ownEntries, ownerOf: ownerByName });
  const cluster = clusterOf();
  cluster.settle();
  for (const key of new DirtyKeys(cluster).take()) dry.set(key, planKey(cluster, key));
  dry.seal();
  assert.deepEqual(dry.report().changes, []);
  let changes = 0;
  const unwatch = northbound.client.subscribe((all) => {
    changes += all.length;
  });
  const { rounds, target } = start();
  await rounds.untilApplied();
  assert.equal(changes, 0);
  target.set('service-group/blue', { rows: [{ table: 'Load_Balancer_Group', key: 'isthmus.lb.blue', columns: {} }] });
  await target.untilApplied();
  assert.ok(named('Load_Balancer_Group', 'isthmus.lb.blue'));
  rounds.close();
  target.close();
  const next = start();
  await next.rounds.untilApplied();
  assert.equal(named('Load_Balancer_Group', 'isthmus.lb.blue'), undefined);
  unwatch();
  next.rounds.close();
  next.target.close();
});
