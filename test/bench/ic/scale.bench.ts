/**
 * A thousand other clusters with ten routes each, as rows that the benchmark itself writes into IC-SB: the time until the
 * northbound database of a member contains them all, and the cost of one change after that. `ovn-northd` and `ovn-controller`
 * are stopped meanwhile: OVN's work on the rows is not measured, and this machine has no core for it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { schemaFile, startOvsdbServer } from 'ovsdb-client/testing';
import { hubRemotes } from '../../lab/layout.ts';
import { quantile } from '../row.ts';
import { cpuSeconds } from '../processes.ts';
import type { IcBed } from './bed.ts';
import { hubOf, signal, whileOvnIsStopped } from './faults.ts';
import {
  type ForeignClusters,
  insertions,
  isForeignName,
  isForeignPrefix,
  prefixOf,
  routeRow,
} from './foreign-rows.ts';
import { measureOvnIc, type OvnIcFigures } from './foreign-floor.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { RouteWatch } from './routes.ts';
import { removeZones, zoneOf } from './zones.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const member = 'east';
const clusters = Number(process.env['IC_SCALE_CLUSTERS'] ?? 1000);
const routesEach = 10;
const changes = 50;
const timeoutMs = 120_000;
const restMs = 5000;

async function openSouthbound(bed: IcBed): Promise<OvsdbClient> {
  return openOvsdb({
    remotes: hubRemotes(hubOf(bed.lab), 'icsb').split(','),
    database: 'OVN_IC_Southbound',
    monitor: { Availability_Zone: ['name'], Route: ['ip_prefix'] },
  });
}

/** The network of the first path in the hub's databases. */
async function transitNetwork(bed: IcBed): Promise<string> {
  const client = await openOvsdb({
    remotes: hubRemotes(hubOf(bed.lab), 'icnb').split(','),
    database: 'OVN_IC_Northbound',
    monitor: { Transit_Switch: ['name', 'external_ids'] },
  });
  const row = [...client.cache.table('Transit_Switch').rows.values()].find(({ name }) => name === 'ts');
  await client.close();
  const subnet = (row?.['external_ids'] as Record<string, string> | undefined)?.['subnet'];
  if (subnet === undefined) throw new Error('the hub has no transit switch ts with a subnet');
  return subnet.split(',')[0] ?? '';
}

function processes(bed: IcBed): number[] {
  return [bed.lab.pid('hub', 'hub'), bed.lab.pid(member, 'interconnect')];
}

const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

/** The hub is stopped while the rows are written, and sees them all at once when it continues. */
async function loadIntoStoppedHub(
  bed: IcBed,
  plan: ForeignClusters,
  southbound: OvsdbClient,
  routes: RouteWatch,
): Promise<number> {
  signal(bed.lab, 'hub', 'hub', 'SIGSTOP');
  try {
    for (const operations of insertions(plan)) await southbound.transact(operations);
  } finally {
    signal(bed.lab, 'hub', 'hub', 'SIGCONT');
  }
  const started = performance.now();
  const count = plan.clusters * plan.routesEach;
  const all = (there: RouteWatch): boolean =>
    there.size >= count && there.prefixes().filter(isForeignPrefix).length === count;
  return (await routes.until(`${String(count)} routes`, all, timeoutMs)) - started;
}

/** Adds one route at a time, and waits each time until the member's northbound database contains it. */
async function oneByOne(
  bed: IcBed,
  plan: ForeignClusters,
  southbound: OvsdbClient,
  routes: RouteWatch,
): Promise<{ readonly ms: number[]; readonly cpu: number }> {
  const zone = zoneOf(southbound, 'scale-0');
  const ms: number[] = [];
  const pids = processes(bed);
  const before = cpuOf(pids);
  for (let at = 0; at < changes; at += 1) {
    const prefix = prefixOf(plan.clusters * plan.routesEach + at);
    const started = performance.now();
    const arrived = routes.untilPrefix(prefix, true);
    await southbound.transact([routeRow(plan, 0, zone, prefix)]);
    ms.push((await arrived) - started);
  }
  if (processes(bed).join() !== pids.join()) throw new Error('the hub or the agent ended while it was measured');
  return { ms, cpu: (cpuOf(pids) - before) / changes };
}

/** The floor without any decisions: the same routes written to a separate northbound database, as its client sees them. */
async function bareWrites(count: number): Promise<{ readonly coldMs: number; readonly oneMs: number }> {
  const server = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  const client = await openOvsdb({
    remotes: [server.remote],
    database: 'OVN_Northbound',
    monitor: { Logical_Router: ['static_routes'], Logical_Router_Static_Route: ['ip_prefix'] },
  });
  await client.transact([{ op: 'insert', table: 'Logical_Router', row: { name: 'router' } }]);
  const write = async (from: number, to: number): Promise<void> => {
    const names = Array.from({ length: to - from }, (_, at) => ({ named: `route${String(at)}` }));
    const rows = names.map(({ named }, at) => ({
      op: 'insert' as const,
      table: 'Logical_Router_Static_Route',
      uuidName: named,
      row: { ip_prefix: prefixOf(from + at), nexthop: '100.100.0.2' },
    }));
    const where = [['name', '==', 'router']] as const;
    const mutations = [['static_routes', 'insert', names]] as const;
    await client.transact([...rows, { op: 'mutate', table: 'Logical_Router', where, mutations }]);
  };
  try {
    const chunk = 500;
    const started = performance.now();
    for (let at = 0; at < count; at += chunk) await write(at, Math.min(count, at + chunk));
    const coldMs = performance.now() - started;
    const times: number[] = [];
    for (let at = 0; at < changes; at += 1) {
      const begun = performance.now();
      await write(count + at, count + at + 1);
      times.push(performance.now() - begun);
    }
    return { coldMs, oneMs: quantile(times, 0.99) };
  } finally {
    await client.close();
    await server.stop();
  }
}

async function removeAll(bed: IcBed, southbound: OvsdbClient, routes: RouteWatch): Promise<void> {
  await removeZones(southbound, isForeignName);
  await routes.until('no route of theirs', (there) => !there.prefixes().some(isForeignPrefix), timeoutMs);
  const chassis = async (): Promise<true | NotYet> => {
    const names = await bed.lab.sbctl(member, ['--bare', '--columns=name', 'list', 'Chassis']);
    return !names.split('\n').some(isForeignName) || notYet('some are there');
  };
  await eventually(`their chassis to be gone in ${member}`, chassis, timeoutMs);
}

interface Figures {
  readonly coldMs: number;
  readonly one: { readonly ms: readonly number[]; readonly cpu: number };
  readonly ovnIc: OvnIcFigures;
}

async function measureThem(bed: IcBed, plan: ForeignClusters): Promise<Figures> {
  const [southbound, routes] = [await openSouthbound(bed), await RouteWatch.open(bed.lab.cluster(member))];
  try {
    const coldMs = await loadIntoStoppedHub(bed, plan, southbound, routes);
    // Status updates about ten thousand routes follow the routes, and are no part of one change.
    await pause(restMs);
    const one = await oneByOne(bed, plan, southbound, routes);
    return { coldMs, one, ovnIc: await measureOvnIc(bed, plan, southbound) };
  } finally {
    await removeAll(bed, southbound, routes);
    await Promise.all([southbound.close(), routes.close()]);
  }
}

async function scale(bed: IcBed): Promise<IcRow[]> {
  const plan = { transitSwitch: 'ts', network: await transitNetwork(bed), clusters, routesEach };
  const bare = await bareWrites(clusters * routesEach);
  const { coldMs, one, ovnIc } = await whileOvnIsStopped(bed.lab, [member], () => measureThem(bed, plan));
  const title = `${clusters.toLocaleString('en')} clusters × ${String(routesEach)} routes`;
  return [
    {
      what: `${title}: all in the northbound database, from when the hub could read them`,
      unit: 's',
      ours: coldMs / 1000,
      target: 3,
      floor: bare.coldMs / 1000,
      floorIs: `as many routes written to an empty database (plain \`ovn-ic\`: ${ovnIc.coldSeconds.toFixed(1)} s)`,
    },
    {
      what: `${title}: one route more, 99th percentile of ${String(changes)}`,
      unit: 'ms',
      ours: quantile(one.ms, 0.99),
      target: 200,
      floor: bare.oneMs,
      floorIs: `one route written to such a database (plain \`ovn-ic\`: ${ovnIc.oneMs.toFixed(0)} ms)`,
    },
    {
      what: `${title}: CPU of hub and agent for one route more`,
      unit: 's of CPU',
      ours: one.cpu,
      target: 0.3,
      floor: ovnIc.oneCpuSeconds,
      floorIs: 'plain `ovn-ic` for the same',
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'scale', measure: scale }];
