import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Member } from '../model/messages.ts';
import { gateway, local, route } from '../model/testing.ts';
import { readHandle } from '../watch/databases.ts';
import { clusterOf, NetworkBed } from './network-bed.ts';

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

describe('the network of a member on real databases', () => {
  let bed: NetworkBed;
  before(async () => {
    bed = await NetworkBed.start();
  });
  after(() => bed.stop());
  beforeEach(async () => {
    bed.restart();
    await bed.network.withdraw();
    bed.restart();
    bed.transactions = 0;
  });

  it('a restart writes nothing, and prunes no member that the hub expects', async () => {
    const members = [clusterOf(1), clusterOf(2)];
    bed.apply(bed.input(members), 'all');
    await bed.untilApplied();
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 4);
    bed.restart();
    bed.transactions = 0;
    bed.apply(bed.input(members), 'all');
    await bed.untilApplied();
    assert.equal(bed.transactions, 0);
    bed.restart();
    bed.apply(bed.input(members.slice(0, 1), { expected: new Set(['c2']) }), 'all');
    await bed.untilApplied();
    assert.equal(bed.transactions, 0, 'c2 is expected, and what there is of it stays');
    bed.apply(bed.input(members.slice(0, 1)), new Set());
    await bed.untilApplied();
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 2);
    assert.equal(bed.count('southbound', 'Chassis'), 1);
  });

  it('keeps the rows of a member that the hub expects again', async () => {
    const members = [clusterOf(1), clusterOf(2)];
    bed.apply(bed.input(members), 'all');
    await bed.untilApplied();
    bed.apply(bed.input(members.slice(0, 1), { expected: new Set(['c2']) }), new Set(['c2']));
    await bed.untilApplied();
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 4);
    bed.apply(bed.input(members.slice(0, 1)), new Set(['c2']));
    await bed.untilApplied();
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 2);
  });

  it('keeps the chassis of a gateway that is gone until northd has no group with it, also across a restart', async () => {
    const member = clusterOf(1);
    const second = gateway('c1-2', '172.31.0.200');
    bed.apply(bed.input([{ ...member, gateways: [...member.gateways, second] }]), 'all');
    await bed.untilApplied();
    const chassis = (): string[] =>
      [...bed.southbound.cache.table('Chassis').rows.values()].map((row) => String(row['name'])).sort();
    const [row] = bed.southbound.cache.table('Chassis').byIndex(['name'], ['c1-2']);
    await bed.southbound.transact([
      { op: 'insert', table: 'HA_Chassis_Group', row: { name: 'g', ha_chassis: { named: 'held' } } },
      {
        op: 'insert',
        table: 'HA_Chassis',
        uuidName: 'held',
        row: { chassis: row?._uuid ?? '', priority: 1 },
      },
    ]);
    for (const changed of ['all' as const, new Set<string>()]) {
      bed.apply(bed.input([member]), changed);
      await bed.untilApplied();
      assert.deepEqual(chassis(), ['c1-1', 'c1-2']);
    }
    bed.restart();
    bed.apply(bed.input([member]), 'all');
    await bed.untilApplied();
    assert.deepEqual(chassis(), ['c1-1', 'c1-2']);
    await bed.southbound.transact([{ op: 'delete', table: 'HA_Chassis_Group', where: [['name', '==', 'g']] }]);
    bed.apply(bed.input([member]), new Set());
    await bed.untilApplied();
    assert.deepEqual(chassis(), ['c1-1']);
  });

  it('removes a path from the routes when its tunnel goes down, and adds it again after its hold-down', async () => {
    const members = [clusterOf(1)];
    let down = '';
    const fields = (nowMs: number) => ({
      tunnel: (own: string) => (own === down ? 'down' : 'up'),
      time: { nowMs, holdDownMs: 5000 },
    });
    const count = async (nowMs: number) => {
      bed.apply(bed.input(members, fields(nowMs)), new Set(['c1']));
      await bed.untilApplied();
      return bed.count('northbound', 'Logical_Router_Static_Route');
    };
    assert.equal(await count(0), 2);
    down = 'a2';
    assert.equal(await count(10_000), 1);
    down = '';
    assert.equal(await count(11_000), 1);
    assert.equal(bed.remotes.wakeMs, 16_000);
    assert.equal(await count(16_000), 2);
  });

  it('a path to a gateway that has a tunnel address of this cluster carries no traffic until the gateway has its own', async () => {
    const one = clusterOf(1);
    const other = gateway('c1-2', '172.31.0.103');
    const ports = one.ports.map((port, index) =>
      index === 0 ? port : { ...port, gateways: ['c1-2', 'c1-1'], holder: 'c1-2' },
    );
    const clashing = { ...one, gateways: [gateway('c1-1', '172.30.1.12'), other], ports };
    const apply = async (member: Member, nowMs: number) => {
      const time = { nowMs, holdDownMs: 5000 };
      bed.apply(bed.input([member], { tunnel: () => undefined, time }), new Set(['c1']));
      await bed.untilApplied();
      const rows = [...bed.northbound.cache.table('Logical_Router_Static_Route').rows.values()];
      const states = bed.remotes.view.get('c1')?.verdicts.map(({ state, reason }) => `${state} ${reason}`);
      return [states, rows.map((row) => row['output_port'])];
    };
    assert.deepEqual(await apply(clashing, 0), [['Down DuplicateEncap', 'Up '], ['east-ts1']]);
    assert.equal(bed.remotes.view.unreachable.size, 0);
    const mended = { ...clashing, gateways: [...one.gateways, other] };
    assert.deepEqual((await apply(mended, 10_000))[0], ['HoldDown HoldDown', 'Up ']);
    assert.deepEqual((await apply(mended, 15_000))[0], ['Up ', 'Up ']);
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 2);
    const foreign = clusterOf(2, { isForeign: true });
    bed.apply(bed.input([{ ...foreign, gateways: [] }]), new Set(['c1', 'c2']));
    assert.deepEqual(
      bed.remotes.view.get('c2')?.verdicts.map(({ state }) => state),
      ['Up'],
      'one that names a chassis of which nothing is known stands as it says',
    );
  });

  it('a cluster that is renamed keeps every row, its paths and their hold-downs', async () => {
    let down = '';
    const apply = async (members: readonly Member[], nowMs: number, names: readonly string[]): Promise<void> => {
      const tunnel = (own: string): string => (own === down ? 'down' : 'up');
      const fields = { tunnel, time: { nowMs, holdDownMs: 5000 } };
      bed.apply(bed.input(members, fields), new Set(names));
      await bed.untilApplied();
    };
    const before = clusterOf(1);
    const after: Member = {
      ...before,
      name: 'renamed',
      routes: before.routes.map((one) => ({ ...one, via: ['renamed'] })),
    };
    await apply([before], 0, ['c1']);
    down = 'a2';
    await apply([before], 10_000, ['c1']);
    down = '';
    await apply([before], 11_000, ['c1']);
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 1);
    bed.transactions = 0;
    await apply([after], 12_000, ['c1', 'renamed']);
    assert.equal(bed.transactions, 0);
    assert.deepEqual(
      [...bed.remotes.view.entries()].map(([name]) => name),
      ['renamed'],
    );
    assert.equal(bed.remotes.wakeMs, 16_000, 'the path that rested goes on resting');
    await apply([after], 16_000, []);
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 2);
    bed.restart();
    bed.transactions = 0;
    await apply([{ ...after, name: 'again' }], 17_000, ['again']);
    assert.equal(bed.transactions, 0, 'also by one that was not there meanwhile');
    await apply([], 18_000, ['again']);
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 0);
    assert.equal(bed.count('southbound', 'Chassis'), 0);
  });

  it('this cluster keeps its ports, routes and handle when it is renamed', async () => {
    bed.apply(bed.input([clusterOf(1)]), 'all');
    await bed.untilApplied();
    const ports = () =>
      [...bed.northbound.cache.table('Logical_Router_Port').rows.values()].map(({ name, _uuid }) => [name, _uuid]);
    const before = ports();
    const routes = bed.count('northbound', 'Logical_Router_Static_Route');
    bed.transactions = 0;
    bed.apply(bed.input([clusterOf(1)], { local: { ...local, cluster: 'orient' } }), 'all');
    await bed.untilApplied();
    assert.equal(bed.transactions, 1, 'the name of the availability zone');
    assert.deepEqual(ports(), before);
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), routes);
    assert.equal(readHandle(bed.northbound.cache), 'east');
  });

  it('FDB entries wait for their port, are deleted with their cluster, and are recognised after a restart', async () => {
    const members = [clusterOf(1)];
    bed.apply(bed.input(members), 'all');
    await bed.untilApplied();
    assert.equal(bed.count('southbound', 'FDB'), 0);
    await bed.southbound.transact([
      { op: 'insert', table: 'Datapath_Binding', row: { tunnel_key: 16_711_681 }, uuidName: 'd' },
      {
        op: 'insert',
        table: 'Port_Binding',
        row: { logical_port: 'ts-c1', type: 'external', tunnel_key: 3, datapath: { named: 'd' } },
      },
    ]);
    await bed.untilApplied();
    for (let tries = 0; bed.count('southbound', 'FDB') === 0 && tries < 100; tries += 1)
      await bed.southbound.transact([{ op: 'comment', comment: 'a round trip' }]);
    assert.equal(bed.count('southbound', 'FDB'), 1);
    bed.restart();
    bed.apply(bed.input([]), 'all');
    await bed.untilApplied();
    assert.equal(bed.count('southbound', 'FDB'), 0);
  });

  it('a thousand clusters with ten routes: cold, and one change', async (context) => {
    const members = Array.from({ length: 1000 }, (_, index) => clusterOf(index, { routes: 10, isForeign: true }));
    let start = performance.now();
    let cpu = cpuSeconds();
    bed.apply(bed.input(members), 'all');
    await bed.untilApplied();
    const coldMs = performance.now() - start;
    const coldCpu = cpuSeconds() - cpu;
    context.diagnostic(`cold: ${Math.round(coldMs)} ms, ${coldCpu.toFixed(2)} s of CPU`);
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 10_000);
    const times: number[] = [];
    cpu = cpuSeconds();
    for (let change = 0; change < 50; change += 1) {
      const at = change * 7;
      const member = members[at] as (typeof members)[number];
      const hops = member.routes[0]?.nextHops ?? [];
      members[at] = { ...member, routes: [...member.routes, route(`30.${change}.0.0/16`, { nextHops: hops })] };
      start = performance.now();
      bed.apply(bed.input(members), new Set([member.name]));
      await bed.untilApplied();
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    const each = (cpuSeconds() - cpu) / 50;
    context.diagnostic(
      `one change: median ${times[25]?.toFixed(1)} ms, p99 ${times[49]?.toFixed(1)} ms, ${(each * 1000).toFixed(1)} ms of CPU`,
    );
    assert.equal(bed.count('northbound', 'Logical_Router_Static_Route'), 10_050);
    // Planning all of it anew would cost as much as the first time.
    assert.ok(each < coldCpu / 10, `${each} s of CPU, and ${coldCpu} s in the beginning`);
  });
});
