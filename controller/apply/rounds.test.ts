import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { externalId } from '../../lib/api/names.ts';
import { openOvsdbTarget, type OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import { DirtyKeys } from '../plan/dirty-keys.ts';
import { Cluster } from '../settle/cluster.ts';
import { kinds } from '../watch/kinds.ts';
import { parseSubnet, parseVpc } from '../watch/networks.ts';
import { parseNamespace, parseNode, parsePod } from '../watch/workloads.ts';
import { type Northbound, openNorthbound, room } from './northbound.ts';
import { Rounds } from './rounds.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const meta = (name: string): never => ({ name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1' }) as never;

let server: TestServer;
let northbound: Northbound;
let changes = 0;
before(async () => {
  server = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  northbound = await openNorthbound({ remotes: [server.remote] });
  northbound.client.subscribe((all) => {
    changes += all.length;
  });
});
after(async () => {
  await northbound.client.close();
  await server.stop();
});

function clusterWith(pods: readonly string[]): Cluster {
  const cluster = new Cluster();
  cluster.change('vpcs', 'ovn-cluster', parseVpc({ metadata: meta('ovn-cluster') }));
  cluster.change('subnets', 'join', parseSubnet({ metadata: meta('join'), spec: { cidrBlock: '100.64.0.0/16' } }));
  cluster.change(
    'subnets',
    'ovn-default',
    parseSubnet({ metadata: meta('ovn-default'), spec: { cidrBlock: '10.16.0.0/16' } }),
  );
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  cluster.change(
    'nodes',
    'n1',
    parseNode({ metadata: meta('n1'), status: { addresses: [{ type: 'InternalIP', address: '172.30.0.1' }] } }),
  );
  for (const name of pods) addPod(cluster, name);
  return cluster;
}

function addPod(cluster: Cluster, name: string): void {
  cluster.change('pods', `ns/${name}`, parsePod({ metadata: meta(name), spec: { nodeName: 'n1' } }));
}

interface Running {
  readonly cluster: Cluster;
  readonly target: OvsdbTarget;
  readonly rounds: Rounds;
  /** Keys published, with whether their port was in the database then. */
  readonly published: Map<string, boolean>;
}

function run(cluster: Cluster): Running {
  const target = openOvsdbTarget({ client: northbound.client, room, logger: quiet });
  const published = new Map<string, boolean>();
  const publish = (key: string): void => {
    const [, namespace = '', name = ''] = key.split('/');
    published.set(key, northbound.hasPort(`${name}.${namespace}`));
  };
  const dirty = new DirtyKeys(cluster);
  cluster.onChange((change) => dirty.changed(change));
  const rounds = new Rounds({ cluster, dirty, target, publish });
  cluster.restore(northbound.portRecords());
  rounds.start();
  return { cluster, target, rounds, published };
}

const portNames = (): string[] =>
  [...northbound.client.cache.table('Logical_Switch_Port').rows.values()].map((row) => String(row['name'])).sort();
const transactions = async (running: Running): Promise<number> => {
  const start = changes;
  await running.rounds.untilApplied();
  return changes - start;
};

test('rounds on a real northbound database', async (context) => {
  let first: Running;
  await context.test(
    'an empty database is filled, and the reports of keys are published once the database has their rows',
    async () => {
      first = run(clusterWith(['a', 'b']));
      await first.rounds.untilApplied();
      assert.deepEqual(portNames(), ['a.ns', 'b.ns', 'join-ovn-cluster', 'node-n1', 'ovn-default-ovn-cluster']);
      assert.equal(first.published.get('pod/ns/a'), true);
    },
  );

  await context.test('a new pod takes one round, and a deleted pod leaves no row', async () => {
    addPod(first.cluster, 'c');
    const revision = first.rounds.request();
    await new Promise(setImmediate);
    assert.equal(first.published.has('pod/ns/c'), false);
    await first.rounds.untilApplied(revision);
    assert.equal(first.published.get('pod/ns/c'), true);
    first.cluster.change('pods', 'ns/c', undefined);
    await first.rounds.untilApplied(first.rounds.request());
    assert.equal(first.published.get('pod/ns/c'), false);
    assert.ok(!portNames().includes('c.ns'));
  });

  await context.test('a start writes nothing if the database agrees, and takes the addresses from it', async () => {
    const before = first.cluster.ports('pod/ns/b');
    first.target.close();
    // The other way round, the allocator alone would give the other addresses.
    const second = run(clusterWith(['b', 'a']));
    assert.equal(await transactions(second), 0);
    assert.deepEqual(second.cluster.ports('pod/ns/b'), before);
    second.target.close();
  });

  await context.test(
    'a start prunes the rows of a pod that was deleted meanwhile, and keeps foreign rows',
    async () => {
      await northbound.client.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'foreign' } }]);
      const third = run(clusterWith(['b']));
      await third.rounds.untilApplied();
      assert.ok(!portNames().includes('a.ns'));
      assert.equal(third.published.get('pod/ns/a'), false);
      const switches = [...northbound.client.cache.table('Logical_Switch').rows.values()].map(({ name }) => name);
      assert.ok(switches.includes('foreign'));
      assert.equal(northbound.hasSwitch('foreign'), false, 'what is not ours is not there for us');
      third.target.close();
    },
  );

  await context.test('a Service that a rule creates again is published before the rule', async () => {
    const running = run(clusterWith([]));
    await running.rounds.untilApplied();
    const spec = { ovnEip: 'e', vpc: 'ovn-cluster', namespace: 'ns', endpoints: ['10.16.0.9'], ports: [{ port: 80 }] };
    const service = { type: 'ClusterIP', clusterIP: 'None', ports: [{ port: 80, protocol: 'TCP' }] };
    for (const [kind, key, of] of [
      ['routerLbRules', 'router-lb-rule/web', 'rlr-web'],
      ['switchLbRules', 'switch-lb-rule/web', 'slr-web'],
    ] as const) {
      const raw = { metadata: meta(of), spec: service };
      running.cluster.change('services', `ns/${of}`, kinds.services.parse(raw));
      await running.rounds.untilApplied(running.rounds.request());
      running.published.clear();
      const rule = kinds[kind].parse({ metadata: meta('web'), spec: { vip: '1.1.1.1', ...spec } });
      running.cluster.change(kind, 'web', rule);
      running.cluster.change('services', `ns/${of}`, undefined);
      await running.rounds.untilApplied(running.rounds.request());
      const order = [...running.published.keys()];
      assert.ok(order.includes(`service/ns/${of}`), order.join(' '));
      assert.ok(order.indexOf(`service/ns/${of}`) < order.indexOf(key), order.join(' '));
    }
    running.target.close();
  });

  await context.test('a change by another client is undone', async () => {
    const fourth = run(clusterWith(['b']));
    await fourth.target.untilApplied();
    await northbound.client.transact([
      { op: 'update', table: 'Logical_Switch_Port', where: [['name', '==', 'b.ns']], row: { port_security: [] } },
    ]);
    await fourth.target.untilApplied();
    const row = [...northbound.client.cache.table('Logical_Switch_Port').rows.values()].find(
      ({ name }) => name === 'b.ns',
    );
    assert.deepEqual(row?.['port_security'], row?.['addresses']);
    fourth.target.close();
  });
});

test('sessions with routers outside are read with what was known of them; one that begins is neither up nor down', async () => {
  const ids = (more: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
    [externalId.owner]: `${room}/gateway-port/blue/external`,
    ...more,
  });
  const rows = [
    { logical_port: 'blue-external', dst_ip: '203.0.113.1', status: 'up', external_ids: ids({ upstream: 'down' }) },
    { logical_port: 'blue-external', dst_ip: '2001:db8::1', status: 'init', external_ids: ids({}) },
    { logical_port: 'blue-second', dst_ip: '198.51.100.1', status: 'down', external_ids: ids({ upstream: 'other' }) },
    { logical_port: 'foreign', dst_ip: '198.51.100.1', status: 'up', external_ids: { upstream: 'up' } },
  ];
  await northbound.client.transact(rows.map((row) => ({ op: 'insert', table: 'BFD', row }) as const));
  assert.deepEqual(Object.fromEntries(northbound.upstreamSessions()), {
    'blue-external/203.0.113.1': { isUp: true, recorded: 'down' },
    'blue-external/2001:db8::1': {},
    'blue-second/198.51.100.1': { isUp: false },
  });
});
