/**
 * How far away other clusters are, for imports that prefer the nearest one. In: round-trip times that gateways of this cluster measure. Out: one time for each
 * cluster, and groups of clusters that count as equally near. Rule: a time changes only when several measurements in a row say so, and a restart finds the
 * one that was published.
 */
import type { GatewayObject } from '../../model/objects.ts';
import type { PathVerdict } from '../paths.ts';

/** The shortest time of the paths that are up. */
export interface Measurement {
  readonly rttMs: number;
  /** When it was made, to tell the next one from the same one. */
  readonly at: string;
}

/** Of the paths to a cluster that are up; undefined if none of them is measured. A gateway that lies about its address has no path that is up. */
export function measurementOf(
  verdicts: readonly Pick<PathVerdict, 'state' | 'localGateway' | 'remoteGateway'>[],
  gatewayOf: (chassis: string) => Pick<GatewayObject, 'probes'> | undefined,
): Measurement | undefined {
  const found = verdicts.flatMap(({ state, localGateway, remoteGateway }): Measurement[] => {
    const probe = gatewayOf(localGateway)?.probes.find(({ chassis }) => chassis === remoteGateway);
    if (state !== 'Up' || probe?.rttMs === undefined) return [];
    return [{ rttMs: probe.rttMs.avg, at: `${localGateway} ${remoteGateway} ${probe.at}` }];
  });
  return found.toSorted((a, b) => a.rttMs - b.rttMs || (a.at < b.at ? -1 : 1))[0];
}

/** Times that differ by less are equal: queues and clocks of virtual machines cause as much. */
const share = 1.3;
const leastMs = 1;
/** So many measurements in a row have to leave the time that counts, on the same side. */
const needed = 3;

interface Distance {
  rttMs: number;
  at: string;
  /** Measurements in a row that differ from it on one side. */
  away: readonly number[];
}

export class Distances {
  readonly #distances = new Map<string, Distance>();

  /** In milliseconds; undefined before the first measurement. */
  of(cluster: string): number | undefined {
    return this.#distances.get(cluster)?.rttMs;
  }

  /** `published`: what the status of the cluster says, from a process before. @returns whether the time of the cluster changed */
  take(cluster: string, measured: Measurement | undefined, published: number | undefined): boolean {
    const known = this.#distances.get(cluster) ?? start(published);
    if (known === undefined) {
      if (measured === undefined) return false;
      this.#distances.set(cluster, { rttMs: rounded(measured.rttMs), at: measured.at, away: [] });
      return true;
    }
    const isNew = !this.#distances.has(cluster);
    this.#distances.set(cluster, known);
    if (measured === undefined || measured.at === known.at) return isNew;
    known.at = measured.at;
    const side = sideOf(measured.rttMs, known.rttMs);
    const isSame = known.away.every((one) => sideOf(one, known.rttMs) === side);
    known.away = side === 0 ? [] : [...(isSame ? known.away : []), measured.rttMs];
    if (known.away.length < needed) return isNew;
    known.rttMs = rounded(medianOf(known.away));
    known.away = [];
    return true;
  }

  forget(cluster: string): void {
    this.#distances.delete(cluster);
  }

  clear(): void {
    this.#distances.clear();
  }
}

/** Nearest first; clusters in one group are equally near. Those without a time are the last group. */
export function groupsOf(
  clusters: Iterable<string>,
  distanceOf: (cluster: string) => number | undefined,
): readonly (readonly string[])[] {
  const timed = [...clusters].sort().map((name) => ({ name, rttMs: distanceOf(name) ?? Infinity }));
  timed.sort((a, b) => (a.rttMs === b.rttMs ? 0 : a.rttMs - b.rttMs));
  const groups: { readonly nearestMs: number; readonly names: string[] }[] = [];
  for (const { name, rttMs } of timed) {
    const last = groups.at(-1);
    if (last !== undefined && (last.nearestMs === rttMs || rttMs <= farthestEqual(last.nearestMs)))
      last.names.push(name);
    else groups.push({ nearestMs: rttMs, names: [name] });
  }
  return groups.map(({ names }) => names);
}

function start(published: number | undefined): Distance | undefined {
  return published === undefined ? undefined : { rttMs: published, at: '', away: [] };
}

/** The longest time that counts as equal to this one. */
function farthestEqual(rttMs: number): number {
  return rttMs * share + leastMs;
}

/** Whether two measured times say the same, in milliseconds. */
export function isSameTime(oneMs: number, otherMs: number): boolean {
  return sideOf(oneMs, otherMs) === 0;
}

/** -1: nearer than before, 1: farther away, 0: equal. */
function sideOf(rttMs: number, beforeMs: number): -1 | 0 | 1 {
  if (rttMs > farthestEqual(beforeMs)) return 1;
  return beforeMs > farthestEqual(rttMs) ? -1 : 0;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** What is published: after a restart it has to be the same number. */
function rounded(rttMs: number): number {
  return Number(rttMs.toPrecision(2));
}
