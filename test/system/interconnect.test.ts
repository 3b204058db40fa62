import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { createKey, createRequest } from '../../interconnect/link/certificate.ts';
import { joinHub } from '../../interconnect/link/client.ts';
import type { HubRefused } from '../../interconnect/link/protocol.ts';
import { readToken, type TokenClaims } from '../../lib/api/join-token.ts';
import { northboundMonitor, southboundMonitor } from '../../interconnect/watch/databases.ts';
import { icSouthboundMonitor } from '../../interconnect/hub/watch/databases.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { interconnects, remoteClusters, secrets, subnets, transitSwitches } from '../../lib/kube/resources.ts';
import type { RawObject, Resource } from '../../lib/kube/types.ts';
import { Bed, until, type ClusterPlan } from './interconnect-bed.ts';

const run = promisify(execFile);
const pods = { east: '10.16.0.11', west: '10.17.0.11', outside: '10.18.0.11' };
type Cluster = keyof typeof pods;
const outside: ClusterPlan = {
  name: 'outside',
  octet: 18,
  nodes: ['c1'],
  gateways: ['c1'],
  podNode: 'c1',
  isForeign: true,
};

describe('two clusters, a hub, real OVN', () => {
  const bed = new Bed();
  const databases: OvsdbClient[] = [];
  let writes = 0;
  let token = '';

  const status = async (cluster: string, resource: Resource, name: string) =>
    (await bed.kube(cluster).get(resource, { name }))['status'] as {
      conditions?: Condition[];
      phase?: string;
      routesLearned?: number;
      activeGateway?: string;
    };
  const condition = async (cluster: string, type: string) =>
    (await status(cluster, interconnects, 'default')).conditions?.find((one) => one.type === type);
  const isReady = (cluster: string) => () => condition(cluster, 'Ready').then((one) => one?.status === 'True');
  const pings = async (from: Cluster, to: Cluster, count = 3): Promise<number> => {
    const argv = [
      'netns',
      'exec',
      bed.netns(`p${from}`),
      'ping',
      '-i',
      '0.05',
      '-W',
      '1',
      '-c',
      String(count),
      pods[to],
    ];
    const { stdout } = await run('ip', argv).catch((error: { stdout: string }) => error);
    return Number(/(\d+) received/.exec(stdout)?.[1] ?? 0);
  };
  const reach = async (): Promise<void> => {
    await until('west reaches east', 15_000, async () => (await pings('west', 'east', 1)) === 1);
    await until('east reaches west', 15_000, async () => (await pings('east', 'west', 1)) === 1);
  };
  const versions = async (): Promise<string> => {
    const objects: RawObject[] = [];
    for (const cluster of ['east', 'west'])
      for (const resource of [interconnects, remoteClusters, transitSwitches])
        objects.push(...(await bed.kube(cluster).list(resource)));
    return objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).join('\n');
  };
  const watch = async (where: string, name: string, database: string, monitor: object): Promise<void> => {
    const client = await openOvsdb({
      remotes: [bed.socket(where, name)],
      database,
      monitor: monitor as Record<string, undefined>,
    });
    client.subscribe(() => (writes += 1));
    databases.push(client);
  };

  before(async () => {
    await bed.up([
      { name: 'east', octet: 16, nodes: ['a1', 'a2', 'a3'], gateways: ['a1', 'a2'], podNode: 'a3' },
      { name: 'west', octet: 17, nodes: ['b1', 'b2'], gateways: ['b1'], podNode: 'b2' },
      outside,
    ]);
    token = await bed.token('east');
    await Promise.all([bed.join('east', token), bed.join('west', await bed.token('west'))]);
  });
  after(async () => {
    await Promise.all(databases.map((client) => client.close()));
    await bed.down();
  });
  afterEach((context) => {
    if ('passed' in context && !context.passed) process.stderr.write(`${bed.logs()}\n`);
  });

  it('joins with one token each; pods reach each other both ways; kubectl tells', async () => {
    await reach();
    await until('east is ready', 10_000, isReady('east'));
    await until('west is ready', 10_000, isReady('west'));
    const remote = await until('east knows west', 5000, async () => {
      const found = await status('east', remoteClusters, 'west');
      return found.phase === 'Ready' && found;
    });
    assert.equal(remote.phase, 'Ready');
    assert.match((await status('east', transitSwitches, 'ts')).activeGateway ?? '', /^a[12]$/);
    for (const type of ['Joined', 'HubReachable', 'GatewaysReady', 'RoutesConverged', 'NoConflicts'])
      assert.equal((await condition('east', type))?.status, 'True', type);
    await watch('east', 'nb', 'OVN_Northbound', northboundMonitor);
    await watch('west', 'nb', 'OVN_Northbound', northboundMonitor);
    await watch('east', 'sb', 'OVN_Southbound', southboundMonitor);
    await watch('west', 'sb', 'OVN_Southbound', southboundMonitor);
    await watch('hub', 'icsb', 'OVN_IC_Southbound', icSouthboundMonitor);
  });

  it('refuses the token to another key', async () => {
    const { hub, ca } = readToken(token) as TokenClaims;
    const again = joinHub(hub, ca, token, await createRequest(await createKey(), 'east'));
    await assert.rejects(again, (error: HubRefused) => error.code === 'TokenRedeemed');
  });

  it('goes on without the hub, says so, and a hub that is back writes nothing', async () => {
    await bed.kill('hub-serve');
    await until(
      'HubReachable is False',
      10_000,
      async () => (await condition('west', 'HubReachable'))?.status === 'False',
    );
    assert.equal(await pings('west', 'east', 10), 10);
    assert.equal((await condition('west', 'Ready'))?.status, 'True');
    writes = 0;
    await bed.serveHub();
    for (const cluster of ['east', 'west'])
      await until(
        `${cluster} is back`,
        15_000,
        async () => (await condition(cluster, 'HubReachable'))?.status === 'True',
      );
    await sleep(500);
    assert.equal(writes, 0);
  });

  it('an agent that was killed and started again writes nothing, to no database and to no object', async () => {
    await until('all is settled', 5000, async () => {
      const first = await versions();
      await sleep(1500);
      return first === (await versions());
    });
    await Promise.all([bed.kill('agent-east'), bed.kill('agent-west')]);
    assert.equal(await pings('west', 'east', 5), 5);
    writes = 0;
    const connected = () => ['agent-east', 'agent-west'].map((name) => bed.count(name, '"connected"'));
    const before = { objects: await versions(), connected: connected() };
    bed.startAgent('east');
    bed.startAgent('west');
    await until('both agents are connected', 40_000, () =>
      connected().every((count, index) => count > (before.connected[index] ?? 0)),
    );
    await sleep(2000);
    assert.equal(writes, 0);
    assert.equal(await versions(), before.objects);
  });

  it('moves to the other gateway within a second, and does not move back', async (context) => {
    const active = async () => (await status('east', transitSwitches, 'ts')).activeGateway;
    const first = (await active()) ?? '';
    const second = first === 'a1' ? 'a2' : 'a1';
    const flow = pings('west', 'east', 120);
    await sleep(2000);
    bed.killOvs(first);
    const received = await flow;
    context.diagnostic(`gateway killed: ${120 - received} of 120 pings at 50 ms lost`);
    assert.ok(received > 100, `${120 - received} of 120 pings at 50 ms lost`);
    await until('the other is active', 5000, async () => (await active()) === second);
    const chassis = (name: string) =>
      bed.sb('west', '--bare', '--columns=_uuid', 'find', 'Chassis', `name=${name}`).trim();
    assert.equal(
      bed.sb('west', '--bare', '--columns=chassis', 'find', 'Port_Binding', 'logical_port=ts-east').trim(),
      chassis(second),
    );
    bed.startOvs(first);
    const lost = 120 - (await pings('west', 'east', 120));
    assert.equal(lost, 0, 'a gateway that returns takes nothing over');
    assert.equal(await active(), second);
  });

  it('rejects a prefix that another cluster has, names the holder, and changes no forwarding', async () => {
    await bed.subnet('west', 'clash', '10.16.4.0/22');
    const conflict = await until('west is told', 5000, async () => {
      const found = await condition('west', 'NoConflicts');
      return found?.status === 'False' && found;
    });
    assert.match(conflict.message ?? '', /10\.16\.4\.0\/22 overlaps 10\.16\.0\.0\/16 of east/);
    assert.ok(!bed.nb('east', 'lr-route-list', 'ovn-cluster').includes('10.16.4.0/22'));
    // West's new subnet has its addresses by the longer mask; the rest of east stays as reachable as it was.
    await reach();
    assert.ok(bed.nb('west', 'lr-route-list', 'ovn-cluster').includes('10.16.0.0/16'));
    await bed.kube('west').delete(subnets, { name: 'clash' });
    await reach();
    await until('the conflict is over', 5000, async () => (await condition('west', 'NoConflicts'))?.status === 'True');
  });

  it('works with a zone that runs plain ovn-ic', async () => {
    await bed.attachForeign(outside, '100.100.0.200/16');
    await until('outside reaches east', 15_000, async () => (await pings('outside', 'east', 1)) === 1);
    await until('west reaches outside', 15_000, async () => (await pings('west', 'outside', 1)) === 1);
    assert.match(bed.nb('outside', 'lr-route-list', 'ovn-cluster'), /10\.16\.0\.0\/16\s+100\.100\.0\.\d.*learned/);
    await until('east shows it', 5000, async () => (await status('east', remoteClusters, 'outside')).phase === 'Ready');
  });

  it('leaves without a trace', async () => {
    await bed.kube('west').delete(interconnects, { name: 'default' });
    await until(
      'the Interconnect is gone',
      15_000,
      async () => (await bed.kube('west').list(interconnects)).length === 0,
    );
    for (const resource of [remoteClusters, transitSwitches])
      await until(
        `${resource.plural} are gone`,
        5000,
        async () => (await bed.kube('west').list(resource)).length === 0,
      );
    await assert.rejects(
      bed.kube('west').get(secrets, { namespace: 'kube-system', name: 'isthmus-interconnect-identity' }),
    );
    for (const table of [
      'Logical_Switch',
      'Logical_Switch_Port',
      'Logical_Router_Port',
      'Logical_Router_Static_Route',
      'Logical_Router_Policy',
      'Gateway_Chassis',
    ])
      assert.ok(!bed.nb('west', 'list', table).includes('isthmus-owner'), `${table} of west`);
    assert.equal(bed.nb('west', '--bare', '--columns=name', 'list', 'NB_Global').trim(), '');
    assert.ok(!bed.nb('west', '--columns=options', 'list', 'NB_Global').includes('bfd-'));
    assert.ok(!bed.sb('west', 'list', 'Chassis').includes('is-remote'));
    assert.ok(!bed.sb('west', 'list', 'Encap').includes('172.30.0.161'));
    const ic = databases.at(-1) as OvsdbClient;
    assert.deepEqual([...ic.cache.table('Availability_Zone').rows.values()].map((row) => String(row['name'])).sort(), [
      'east',
      'outside',
    ]);
    for (const [table, count] of [
      ['Port_Binding', 2],
      ['Route', 2],
      ['Gateway', 3],
      ['Encap', 3],
    ] as const)
      assert.equal(ic.cache.table(table).rows.size, count, table);
    await until('east forgets west', 5000, async () => (await bed.kube('east').list(remoteClusters)).length === 1);
    assert.ok(!bed.nb('east', 'lr-route-list', 'ovn-cluster').includes('10.17.0.0/16'));
  });
});
