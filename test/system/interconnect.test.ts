import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { icSouthbound } from '../../interconnect/hub/watch/databases.ts';
import { createKey, createRequest } from '../../lib/pki/certificate.ts';
import { joinHub } from '../../interconnect/link/client.ts';
import type { HubRefused } from '../../interconnect/link/protocol.ts';
import { northboundMonitor, southboundMonitor } from '../../interconnect/watch/databases.ts';
import { readToken, type TokenClaims } from '../../lib/pki/join-token.ts';
import {
  interconnectGateways,
  interconnects,
  nodes,
  remoteClusters,
  secrets,
  subnets,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import { Bed, type ClusterPlan } from './interconnect-bed.ts';
import { flowPort, lookAt } from './interconnect-view.ts';
import { joinsAnotherVpc, leavesPeering } from './interconnect-vpcs.ts';
import { startEcho } from './udp-flows.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

const outside: ClusterPlan = {
  name: 'outside',
  octet: 18,
  nodes: ['c1'],
  gateways: ['c1'],
  podNode: 'c1',
  isForeign: true,
};
const gateways = { east: ['a1', 'a2'], west: ['b1', 'b2'] };

describe('the interconnect of two clusters with real OVN', () => {
  const bed = new Bed();
  const databases: OvsdbClient[] = [];
  const echoes: ChildProcess[] = [];
  let writes = 0;
  let token = '';

  const {
    status,
    condition,
    isTrue,
    remote,
    paths,
    holders,
    settled,
    allSettled,
    nextHops,
    pings,
    reach,
    flows,
    judge,
    undisturbed,
    versions,
  } = lookAt(bed);
  const watch = async (where: string, name: string, database: string, monitor: object): Promise<OvsdbClient> => {
    const client = await openOvsdb({
      remotes: [bed.socket(where, name)],
      database,
      monitor: monitor as Record<string, undefined>,
    });
    client.subscribe(() => (writes += 1));
    databases.push(client);
    return client;
  };

  before(async () => {
    await bed.up([
      { name: 'east', octet: 16, nodes: ['a1', 'a2', 'a3'], gateways: gateways.east, podNode: 'a3' },
      { name: 'west', octet: 17, nodes: ['b1', 'b2', 'b3'], gateways: gateways.west, podNode: 'b3' },
      outside,
    ]);
    token = await bed.token('east');
    await Promise.all([bed.join('east', token), bed.join('west', await bed.token('west'))]);
    for (const cluster of ['east', 'west'] as const) bed.reportTunnels(cluster, gateways[cluster]);
    echoes.push(await startEcho(bed.netns('peast'), flowPort));
  });
  after(async () => {
    for (const echo of echoes) echo.kill('SIGKILL');
    await Promise.all(databases.map((client) => client.close()));
    await bed.down();
  });
  afterEach((context) => {
    if ('passed' in context && !context.passed) process.stderr.write(`${bed.logs()}\n`);
  });

  it('joins clusters with one token each, connects pods over two paths, and reports its status', async () => {
    await reach();
    await eventually('east is ready', isTrue('east', 'Ready'));
    await eventually('west is ready', isTrue('west', 'Ready'));
    await allSettled();
    await eventually('west is protected', isTrue('west', 'DataplaneProtected'));
    await eventually('east shows west', async () => (await remote('east', 'west')).phase === 'Ready');
    await eventually(
      'each path is on a gateway of its own',
      async () => (await holders('east')).sort().join() === 'a1,a2',
    );
    await eventually('both are in the routes', () => nextHops('east', '10.17.0.0/16').length === 2);
    for (const type of [
      'Joined',
      'HubReachable',
      'GatewaysReady',
      'RoutesConverged',
      'NoConflicts',
      'CertificateValid',
    ])
      await eventually(`${type} of east`, isTrue('east', type));
    await watch('east', 'nb', 'OVN_Northbound', northboundMonitor);
    await watch('west', 'nb', 'OVN_Northbound', northboundMonitor);
    await watch('east', 'sb', 'OVN_Southbound', southboundMonitor);
    await watch('west', 'sb', 'OVN_Southbound', southboundMonitor);
    await watch('hub', 'icsb', icSouthbound.database, icSouthbound.monitor);
  });

  it('refuses a redeemed token with another key', async () => {
    const { hub, ca } = readToken(token) as TokenClaims;
    const again = joinHub(hub, ca, token, await createRequest(await createKey(), 'east'));
    await assert.rejects(again, (error: HubRefused) => error.code === 'TokenRedeemed');
  });

  it('forwards and reports the loss while the hub is down, and a restarted hub writes nothing', async () => {
    await bed.kill('hub-serve');
    await eventually(
      'HubReachable is False',
      async () => (await condition('west', 'HubReachable'))?.status === 'False',
    );
    assert.equal(await pings('west', 'east', 10), 10);
    assert.equal((await condition('west', 'Ready'))?.status, 'True');
    writes = 0;
    // An agent that starts meanwhile has no state from the hub, and must keep the existing rows.
    await bed.kill('agent-west');
    const silences = bed.count('agent-west', 'did not answer');
    bed.startAgent('west');
    await eventually('the agent is there', () => bed.count('agent-west', 'did not answer') > silences);
    await sleep(7000);
    assert.equal(writes, 0, 'it leaves all rows as they are');
    assert.equal(await pings('west', 'east', 5), 5);
    assert.equal((await condition('west', 'Ready'))?.status, 'True');
    assert.equal((await status<{ remoteClusters?: number }>('west', interconnects, 'default')).remoteClusters, 1);
    await bed.serveHub();
    for (const cluster of ['east', 'west'])
      await eventually(`${cluster} is back`, async () => (await condition(cluster, 'HubReachable'))?.status === 'True');
    await sleep(500);
    assert.equal(writes, 0);
  });

  it('writes no rows and no objects when killed agents restart', async () => {
    await eventually('all is settled', async () => {
      const first = await versions();
      await sleep(1500);
      return first === (await versions());
    });
    await Promise.all([bed.kill('agent-east'), bed.kill('agent-west')]);
    assert.equal(await pings('west', 'east', 5), 5);
    writes = 0;
    const connected = () => ['agent-east', 'agent-west'].map((name) => bed.count(name, '"connected"'));
    const before = { objects: await versions(), connected: connected() };
    const start = performance.now();
    bed.startAgent('east');
    bed.startAgent('west');
    await eventually('both agents are connected', () =>
      connected().every((count, index) => count > (before.connected[index] ?? 0)),
    );
    const awayMs = performance.now() - start;
    await sleep(2000);
    assert.equal(writes, 0);
    // The hub reports a cluster that is disconnected for longer than its grace period to the others.
    if (awayMs < 8000) assert.equal(await versions(), before.objects);
  });

  it('reports frozen programs while traffic continues', async () => {
    const says = (cluster: string, type: string, reason: string) => async () => {
      const found = await condition(cluster, type);
      return found?.reason === reason && found;
    };
    bed.signalPid('hub/icsb', 'SIGSTOP');
    for (const cluster of ['east', 'west'])
      await eventually(`HubDatabasesStuck in ${cluster}`, says(cluster, 'HubDatabasesReady', 'HubDatabasesStuck'));
    assert.equal(await pings('west', 'east', 3), 3);
    bed.signalPid('hub/icsb', 'SIGCONT');
    await eventually('HubDatabasesReady in east', isTrue('east', 'HubDatabasesReady'));
    for (const [file, reason, news] of [
      ['east/northd', 'NorthdStuck', '10.40.1.0/24'],
      ['east/sb', 'SouthboundSilent', '10.40.2.0/24'],
      ['a1/ovn-controller', 'OvnControllerStuck', '10.40.3.0/24'],
    ] as const) {
      bed.signalPid(file, 'SIGSTOP');
      // A further route in east gives OVN a change to process.
      await bed.subnet('west', 'news', news);
      const found = await eventually(`reason ${reason}`, says('east', 'RoutesConverged', reason)).finally(() =>
        bed.signalPid(file, 'SIGCONT'),
      );
      assert.match(found.message ?? '', /since \d{4}-/);
      await eventually(`${reason} is over`, isTrue('east', 'RoutesConverged'));
      await bed.kube('west').delete(subnets, { name: 'news' });
    }
    // An agent reports a silent database at its start too.
    await bed.kill('agent-east');
    bed.signalPid('east/nb', 'SIGSTOP');
    bed.startAgent('east');
    await eventually('reason NorthboundSilent', says('east', 'RoutesConverged', 'NorthboundSilent')).finally(() =>
      bed.signalPid('east/nb', 'SIGCONT'),
    );
    await eventually('the agent has begun', isTrue('east', 'RoutesConverged'));
    assert.equal(await pings('west', 'east', 3), 3);
    await allSettled();
  });

  it('survives the loss of the hub’s databases, with and without a running hub', async (context) => {
    for (const isHubKilled of [false, true]) {
      const stop = flows();
      if (isHubKilled) await bed.kill('hub-serve');
      await bed.wipeHubDatabases();
      if (isHubKilled) await bed.serveHub();
      const ic = await watch('hub', 'icsb', icSouthbound.database, icSouthbound.monitor);
      await eventually('both are in the databases again', () => ic.cache.table('Port_Binding').rows.size === 4);
      for (const cluster of ['east', 'west'])
        await eventually(`${cluster} is converged`, isTrue(cluster, 'RoutesConverged'));
      judge(context, 'databases of the hub wiped', await stop());
      await eventually('both paths are in the routes', () => nextHops('east', '10.17.0.0/16').length === 2);
    }
  });

  it('fails over without the hub when a gateway dies, and loses nothing when the gateway returns', async (context) => {
    const frozen = ['hub/icnb', 'hub/icsb'];
    bed.signal('hub-serve', 'SIGSTOP');
    for (const file of frozen) bed.signalPid(file, 'SIGSTOP');
    const stop = flows();
    await sleep(2000);
    bed.killOvs('a1');
    await eventually('the path is out of the routes', () => nextHops('west', '10.16.0.0/16').length === 1);
    judge(context, 'gateway of the other side killed, hub frozen', await stop(), 1000);
    const stopBack = flows();
    bed.startOvs('a1');
    await sleep(1000);
    for (const file of frozen) bed.signalPid(file, 'SIGCONT');
    bed.signal('hub-serve', 'SIGCONT');
    await eventually('the path is in the routes again', () => nextHops('west', '10.16.0.0/16').length === 2);
    await allSettled();
    judge(context, 'gateway returned', await stopBack());
  });

  it('keeps each path on its anchor while two gateways are cut off from each other only', async (context) => {
    const [first, second] = gateways.west as [string, string];
    const orders = async () => (await paths('west')).map((path) => (path.gateways ?? []).join());
    const claims = () =>
      bed.sb('west', '--bare', '--columns=logical_port,chassis', 'find', 'Port_Binding', 'type=chassisredirect');
    await allSettled();
    const before = await orders();
    bed.dropTunnel(first, second);
    await eventually('the cut is named', async () => {
      const ready = await condition('west', 'GatewaysReady');
      return ready?.reason === 'GatewaysCutOff' && ready.message?.startsWith(`${first} (172.30.0.171) and ${second} `);
    });
    await eventually('each has its own path alone', async () => {
      const [anchors, now] = [before.map((order) => order.split(',')[0]), await orders()];
      return now.join(' ') === anchors.join(' ') && (await holders('west')).join(' ') === anchors.join(' ');
    });
    const held = claims();
    const stop = flows();
    await sleep(2000);
    assert.equal(claims(), held, 'no gateway takes a port from the other');
    bed.passTunnels();
    await eventually('the orders are whole', async () => (await orders()).join(' ') === before.join(' '));
    judge(context, 'two gateways reach each other again', await stop());
    assert.equal(claims(), held);
    await eventually('the cut is over', isTrue('west', 'GatewaysReady'));
    await allSettled();
  });

  it('drains and undrains a gateway without loss', async (context) => {
    const drain = (value: boolean) =>
      bed.kube('east').patch(interconnectGateways, { name: 'a1' }, 'merge', { spec: { drain: value } });
    const hasPath = () => eventually('a1 holds a path again', async () => (await holders('east')).includes('a1'));
    const restore = () => drain(false).then(hasPath);
    context.after(() => drain(false));
    await undisturbed(context, restore, async () => {
      const stop = flows();
      await sleep(500);
      await drain(true);
      await eventually('a1 holds nothing', async () => !(await holders('east')).includes('a1'));
      judge(context, 'drained', await stop(5000));
      await eventually(
        'a1 says so',
        async () => (await condition('east', 'Ready', interconnectGateways, 'a1'))?.reason === 'Drained',
      );
      await allSettled();
      const stopBack = flows();
      await drain(false);
      await hasPath();
      await allSettled();
      judge(context, 'undrained', await stopBack(5000));
    });
  });

  it('moves the paths of a gateway before the node loses its role, and assigns paths to a new gateway', async (context) => {
    const label = (value: string | null) =>
      bed
        .kube('west')
        .patch(nodes, { name: 'b2' }, 'merge', { metadata: { labels: { 'ovn.kubernetes.io/ic-gw': value } } });
    const restore = () => label('true');
    context.after(restore);
    await undisturbed(context, restore, async () => {
      const stop = flows();
      await sleep(500);
      await label(null);
      await eventually('b2 has no gateway object', async () =>
        (await bed.kube('west').list(interconnectGateways)).every(({ metadata }) => metadata.name !== 'b2'),
      );
      judge(context, 'unselected', await stop(5000));
      assert.ok(!bed.nb('west', '--columns=chassis_name', 'list', 'Gateway_Chassis').includes('b2'));
      const stopBack = flows();
      await label('true');
      await eventually('b2 holds a path', async () => (await holders('west')).includes('b2'));
      await allSettled();
      judge(context, 'selected', await stopBack(5000));
    });
  });

  it('adds and removes paths without loss', async (context) => {
    const set = async (count: number) => {
      await bed.kill('hub-serve');
      await bed.serveHub(`--paths=${count}`);
      await eventually(
        `${count} paths`,
        async () => (await paths('east')).length === count && (await paths('west')).length === count,
      );
      await Promise.all([settled('east', 'west', count), settled('west', 'east', count)]);
    };
    await undisturbed(
      context,
      () => set(2),
      async () => {
        for (const count of [4, 2]) {
          const stop = flows();
          await set(count);
          judge(context, `${count} paths`, await stop());
          await eventually('they are in the routes', () => nextHops('east', '10.17.0.0/16').length === count);
        }
      },
    );
    await eventually('the third path is gone', () => !bed.nb('east', 'ls-list').includes('(ts2)'));
  });

  it('removes the routes of a dead cluster at once, and restores them when it returns', async (context) => {
    for (const node of gateways.west) bed.killOvs(node);
    const start = performance.now();
    await eventually('east has no route to west', () => nextHops('east', '10.17.0.0/16').length === 0);
    context.diagnostic(`routes gone after ${Math.round(performance.now() - start)} ms`);
    await eventually('east says so', async () => (await remote('east', 'west')).phase === 'Unreachable');
    for (const node of gateways.west) bed.startOvs(node);
    const back = performance.now();
    await eventually('west is reached again', async () => (await pings('east', 'west', 1)) === 1);
    context.diagnostic(`reached again after ${Math.round(performance.now() - back)} ms`);
    await allSettled();
  });

  it('connects another VPC with its own transit switch, and removes it without a trace', () => joinsAnotherVpc(bed));

  it('refuses a TransitSwitch whose CIDR overlaps a peering of two VPCs', () => leavesPeering(bed));

  it('rejects a prefix of another cluster, reports its holder, and changes no forwarding', async () => {
    await bed.subnet('west', 'clash', '10.16.4.0/22');
    const conflict = await eventually('the conflict in west', async () => {
      const found = await condition('west', 'NoConflicts');
      return found?.status === 'False' && found;
    });
    assert.match(conflict.message ?? '', /10\.16\.4\.0\/22 overlaps 10\.16\.0\.0\/16 of east/);
    assert.ok(!bed.nb('east', 'lr-route-list', 'ovn-cluster').includes('10.16.4.0/22'));
    // West's new subnet has the longer prefix; the rest of east stays reachable.
    await reach();
    assert.ok(bed.nb('west', 'lr-route-list', 'ovn-cluster').includes('10.16.0.0/16'));
    await bed.kube('west').delete(subnets, { name: 'clash' });
    await reach();
    await eventually('the conflict is over', async () => (await condition('west', 'NoConflicts'))?.status === 'True');
  });

  it('connects a zone that runs plain ovn-ic', async () => {
    await bed.attachForeign(outside, '100.100.0.200/19');
    await eventually('outside reaches east', async () => (await pings('outside', 'east', 1)) === 1);
    await eventually('west reaches outside', async () => (await pings('west', 'outside', 1)) === 1);
    assert.match(bed.nb('outside', 'lr-route-list', 'ovn-cluster'), /10\.16\.0\.0\/16\s+100\.100\.0\.\d.*learned/);
    await eventually('east shows it', async () => (await remote('east', 'outside')).phase === 'Ready');
  });

  it('renames a member without changing rows, also if hub and agent are killed, and keeps the old name until it has a token', async (context) => {
    const client = bed.kube('west');
    const call = (clusterName: string) =>
      client.patch(interconnects, { name: 'default' }, 'merge', { spec: { clusterName } });
    const tokens = { occident: await bed.token('occident'), abend: await bed.token('abend') };
    const give = (cluster: keyof typeof tokens) => {
      const name = { namespace: 'kube-system', name: 'isthmus-interconnect-token' };
      return client.patch(secrets, name, 'merge', { stringData: { token: tokens[cluster] } });
    };
    const list = (cluster: string, columns: string, ...rest: string[]): string =>
      bed.nb(cluster, '--bare', `--columns=${columns}`, ...rest).trim();
    const rows = () => [
      ...['east', 'west'].flatMap((cluster) => [
        list(cluster, '_uuid,name,networks', 'list', 'Logical_Router_Port'),
        list(cluster, '_uuid,ip_prefix,nexthop', 'find', 'Logical_Router_Static_Route', 'ip_prefix!="0.0.0.0/0"'),
        list(cluster, '_uuid,name,addresses,options', 'list', 'Logical_Switch_Port'),
      ]),
      list('outside', '_uuid,ip_prefix,nexthop', 'find', 'Logical_Router_Static_Route', 'ip_prefix="10.17.0.0/16"'),
    ];
    const isCalled = async (name: string, former: string) => {
      const clusters = (await bed.kube('east').list(remoteClusters)).map(({ metadata }) => metadata.name);
      return (
        clusters.includes(name) && !clusters.includes(former) && (await condition('west', 'Joined'))?.status === 'True'
      );
    };
    await allSettled();
    const before = rows();
    const stop = flows();
    await call('occident');
    await eventually(
      'it says what it lacks',
      async () => (await condition('west', 'Joined'))?.reason === 'TokenForOtherCluster',
    );
    assert.equal((await remote('east', 'west')).phase, 'Ready', 'a member by the name it has');
    await give('occident');
    await eventually('east knows occident', () => isCalled('occident', 'west'));
    const zone = () => bed.nb('west', '--bare', '--columns=name', 'list', 'NB_Global').trim();
    await eventually('its zone has the name', () => zone() === 'occident');
    judge(context, 'renamed', await stop());
    assert.deepEqual(rows(), before);
    const stopAgain = flows();
    await give('abend');
    await call('abend');
    await Promise.all([bed.kill('hub-serve'), bed.kill('agent-west')]);
    bed.startAgent('west');
    await bed.serveHub();
    await eventually('east knows abend', () => isCalled('abend', 'occident'));
    judge(context, 'renamed, hub and agent killed', await stopAgain());
    assert.deepEqual(rows(), before);
    await Promise.all([settled('east', 'abend'), settled('west', 'east')]);
  });

  it('removes a member without a trace', async () => {
    await bed.kube('west').delete(interconnects, { name: 'default' });
    await eventually('the Interconnect is gone', async () => (await bed.kube('west').list(interconnects)).length === 0);
    for (const resource of [remoteClusters, transitSwitches, interconnectGateways])
      await eventually(`${resource.plural} are gone`, async () => (await bed.kube('west').list(resource)).length === 0);
    const identity = { namespace: 'kube-system', name: 'isthmus-interconnect-identity' };
    await eventuallyPasses(() => assert.rejects(bed.kube('west').get(secrets, identity)));
    for (const table of [
      'Logical_Switch',
      'Logical_Switch_Port',
      'Logical_Router_Port',
      'Logical_Router_Static_Route',
      'Logical_Router_Policy',
      'Gateway_Chassis',
      'HA_Chassis_Group',
      'HA_Chassis',
      'Address_Set',
    ])
      await eventuallyPasses(() => assert.doesNotMatch(bed.nb('west', 'list', table), /isthmus-owner/, table));
    await eventuallyPasses(() => {
      assert.equal(bed.nb('west', '--bare', '--columns=name', 'list', 'NB_Global').trim(), '');
      assert.ok(!bed.nb('west', '--columns=options', 'list', 'NB_Global').includes('bfd-'));
      assert.ok(!bed.sb('west', 'list', 'Chassis').includes('is-remote'));
      assert.ok(!bed.sb('west', 'list', 'Encap').includes('172.30.0.161'));
      assert.equal(bed.sb('west', '--bare', 'list', 'FDB').trim(), '');
    });
    const ic = await watch('hub', 'icsb', icSouthbound.database, icSouthbound.monitor);
    const zones = () => [...ic.cache.table('Availability_Zone').rows.values()].map((row) => String(row['name']));
    await eventually('its zone is gone', () => zones().sort().join() === 'east,outside');
    for (const table of ['Port_Binding', 'Route', 'Gateway', 'Encap'])
      await eventually(`what it had as ${table} is gone`, () => ic.cache.table(table).rows.size === 3);
    await eventually('east forgets west', async () => (await bed.kube('east').list(remoteClusters)).length === 1);
    await eventually('and its routes', () => !bed.nb('east', 'lr-route-list', 'ovn-cluster').includes('10.17.0.0/16'));
  });
});
