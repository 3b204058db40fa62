/**
 * Processes of the control plane are killed one after the other, at random, while Subnets come and go and flows go on.
 * At the end all clusters have the same state, and a restart of all agents and the hub changes no row.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Random, randomOf } from '../../../lib/testing-random.ts';
import type { FlowReport } from '../flows/report.ts';
import type { IcBed } from './bed.ts';
import { isDead } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { dumpCluster, dumpHub, meaningOf } from './rows.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const lengthMs = Number(process.env['IC_CHAOS_SECONDS'] ?? 60) * 1000;
const direction = ['east', 'west'] as const;
/** Between two kills. */
const killEveryMs = 2000;
const churnEveryMs = 500;
/** Subnets that come and go, in each cluster. */
const slots = 8;

interface Victim {
  readonly place: string;
  readonly component: string;
}

function victimsOf(bed: IcBed): Victim[] {
  const ofCluster = bed.members.flatMap(({ name, nodes }) => [
    { place: name, component: 'interconnect' },
    { place: name, component: 'northd' },
    ...nodes.map((node) => ({ place: `${name}/${node.name}`, component: 'ovn-controller' })),
  ]);
  return [...ofCluster, { place: 'hub', component: 'hub' }];
}

interface Kill extends Victim {
  /** Unix milliseconds. */
  readonly atMs: number;
}

async function killAtRandom(bed: IcBed, random: Random, end: number): Promise<readonly Kill[]> {
  const victims = victimsOf(bed);
  const kills: Kill[] = [];
  while (performance.now() < end) {
    const victim = victims[random(victims.length)];
    if (victim !== undefined && !isDead(bed.lab, victim.place, victim.component)) {
      kills.push({ ...victim, atMs: Date.now() });
      await bed.lab.kill(victim.place, victim.component);
    }
    await pause(killEveryMs);
    await bed.lab.heal();
  }
  return kills;
}

/** Subnets that exist at the end, by cluster. */
type Left = ReadonlyMap<string, ReadonlyMap<string, string>>;

async function churn(bed: IcBed, random: Random, end: number): Promise<Left> {
  const left = new Map(direction.map((cluster) => [cluster as string, new Map<string, string>()]));
  while (performance.now() < end) {
    const at = random(slots);
    const cluster = direction[random(direction.length)] ?? 'east';
    const name = `chaos-${cluster}-${String(at)}`;
    const cidr = `10.${cluster === 'east' ? '72' : '73'}.${String(at)}.0/24`;
    const there = left.get(cluster);
    if (there?.delete(name) === true) await bed.removeSubnet(cluster, name);
    else {
      await bed.addSubnet(cluster, name, cidr);
      there?.set(name, cidr);
    }
    await pause(churnEveryMs);
  }
  return left;
}

/** The prefixes of the churn that a cluster has routes to, each once. */
async function churnedRoutes(bed: IcBed, cluster: string): Promise<string> {
  const text = await bed.lab.nbctl(cluster, ['--bare', '--columns=ip_prefix', 'list', 'Logical_Router_Static_Route']);
  const prefixes = text.split('\n').filter((line) => /^10\.7[23]\./.test(line));
  return [...new Set(prefixes)].toSorted().join(' ');
}

/** How many prefixes some cluster is without, or has too many, once everybody had the time to learn of all. */
async function differences(bed: IcBed, left: Left): Promise<number> {
  let wrong = 0;
  for (const { name } of bed.members) {
    const wanted = [...left].flatMap(([cluster, subnets]) => (cluster === name ? [] : [...subnets.values()]));
    const asWanted = wanted.toSorted().join(' ');
    let found = '';
    const isSo = async (): Promise<true | NotYet> => {
      found = await churnedRoutes(bed, name);
      return found === asWanted || notYet(`routes to ${found || 'none'}, wanted ${asWanted || 'none'}`);
    };
    await eventually(`the routes of ${name}`, isSo, 30_000).catch((error: Error) => console.error(error.message));
    const [has, needs] = [new Set(found.split(' ')), new Set(asWanted.split(' '))];
    wrong += has.symmetricDifference(needs).size;
  }
  return wrong;
}

async function comparableRows(bed: IcBed): Promise<Set<string>> {
  const dumps = await Promise.all([...bed.members.map(dumpCluster), dumpHub(bed.lab)]);
  return new Set(meaningOf(dumps.flat()));
}

/** Rows that a start of all agents and the hub from nothing adds, removes or changes. */
async function rowsChangedByRestart(bed: IcBed): Promise<number> {
  const before = await comparableRows(bed);
  for (const place of [...bed.members.map(({ name }) => name), 'hub']) {
    const component = place === 'hub' ? 'hub' : 'interconnect';
    const pid = bed.lab.pid(place, component);
    await bed.lab.kill(place, component);
    await bed.lab.waitForRestart(place, component, pid);
  }
  await bed.settle();
  const after = await comparableRows(bed);
  const changed = before.symmetricDifference(after);
  for (const line of changed)
    console.error(`${before.has(line) ? 'only before' : 'only after'} a fresh start: ${line}`);
  return changed.size;
}

const suspectMs = 5000;

/** Prints each burst of losses with the processes killed shortly before. */
function tellLosses({ udp: { bursts }, stallMs }: FlowReport, kills: readonly Kill[]): void {
  for (const { fromMs, toMs, packets } of bursts) {
    const before = kills.filter(({ atMs }) => atMs <= toMs && atMs >= fromMs - suspectMs);
    const suspects = before.map(({ place, component, atMs }) => `${component} of ${place} ${fromMs - atMs} ms before`);
    const when = `${new Date(fromMs).toISOString()}, for ${toMs - fromMs} ms`;
    console.error(`lost ${packets} packets at ${when}; killed: ${suspects.join(', ') || 'none'}; stalls ${stallMs} ms`);
  }
}

async function chaos(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const seed = Number(process.env['IC_CHAOS_SEED'] ?? Date.now() % 1_000_000);
  console.log(`         IC_CHAOS_SEED=${String(seed)} IC_CHAOS_SECONDS=${String(lengthMs / 1000)}`);
  let left: Left = new Map();
  let kills: readonly Kill[] = [];
  try {
    const report = await bed.flowsDuring(direction, async () => {
      const end = performance.now() + lengthMs;
      [kills, left] = await Promise.all([killAtRandom(bed, randomOf(seed), end), churn(bed, randomOf(seed + 1), end)]);
    });
    tellLosses(report, kills);
    await bed.settle();
    const what = `${String(kills.length)} kills of agents, hub, northd and ovn-controller in ${String(lengthMs / 1000)} s of route churn`;
    const none = { target: 0, floor: 0, floorIs: 'none' };
    return [
      { ...none, what: `${what}: packets lost`, unit: 'packets', ours: report.udp.lost },
      {
        ...none,
        what: `${what}: routes missing or too many at the end`,
        unit: 'rows',
        ours: await differences(bed, left),
      },
      {
        ...none,
        what: `${what}: rows that a fresh start of all would change`,
        unit: 'rows',
        ours: await rowsChangedByRestart(bed),
      },
    ];
  } finally {
    for (const [cluster, subnets] of left) for (const name of subnets.keys()) await bed.removeSubnet(cluster, name);
  }
}

export const measurements: readonly Measurement[] = [{ name: 'kills and route churn', measure: chaos }];
