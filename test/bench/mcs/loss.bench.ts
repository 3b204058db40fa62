/** A cluster with half of the endpoints of a Service dies, while a client of the other cluster sends a hundred requests a second. */
import { setTimeout as pause } from 'node:timers/promises';
import { killCluster, reviveCluster, whileHubIsFrozen } from '../ic/faults.ts';
import type { Requests } from '../services/traffic.ts';
import { clusters, type McsBed } from './bed.ts';
import { nowMs, type McsRow, type Measurement } from './measurement.ts';

/** The hub keeps its state in the other cluster. */
const [here, victim] = ['east', 'west'] as const;
const perSecond = 100;
const name = 'lost';

/** Requests that failed, by the time at which they began: seconds after the death. */
async function failuresOf(bed: McsBed, address: string): Promise<readonly number[]> {
  const requests = bed.requests(here, address, perSecond);
  await pause(2000);
  const cluster = bed.lab.cluster(victim);
  try {
    const startMs = (await killCluster(bed.lab, cluster)) + nowMs() - performance.now();
    await pause(4000);
    const { failedMs, sent } = await requests.end<Requests>();
    if (sent < 400) throw new Error(`the machine sent only ${sent} requests`);
    return failedMs.map((ms) => (ms - startMs) / 1000);
  } finally {
    await requests.stop();
  }
}

async function lose(bed: McsBed, isHubFrozen: boolean): Promise<McsRow[]> {
  await bed.ic.settle();
  const address = await bed.addressOfImport(here, name);
  for (const cluster of clusters)
    for (const pod of ['b1', 'b2', 'b3'] as const) await bed.untilAnswers(here, address, 80, [cluster, pod]);
  try {
    const work = () => failuresOf(bed, address);
    const failed = isHubFrozen ? await whileHubIsFrozen(bed.lab, work) : await work();
    const hub = isHubFrozen ? ', hub and IC databases frozen' : '';
    const what = `A cluster with 3 of 6 endpoints dies, ${perSecond} requests a second${hub}`;
    const detection = (await bed.ic.detectionMs()) / 1000;
    return [
      {
        what: `${what}: the last request that fails began so long after`,
        unit: 's',
        ours: Math.max(0, ...failed),
        target: 0.5,
        floor: detection,
        floorIs: 'BFD detection as configured: interval × multiplier',
      },
      {
        what: `${what}: requests that fail`,
        unit: 'requests',
        ours: failed.length,
        target: undefined,
        floor: (detection * perSecond) / 2,
        floorIs: 'half of the requests during BFD detection',
      },
      {
        what: `${what}: of those, begun before`,
        unit: 'requests',
        ours: failed.filter((seconds) => seconds < 0).length,
        target: 0,
        floor: 0,
        floorIs: 'none',
      },
    ];
  } finally {
    await reviveCluster(bed.lab, bed.lab.cluster(victim));
  }
}

async function measure(bed: McsBed): Promise<McsRow[]> {
  for (const cluster of clusters) {
    await bed.makeService(cluster, name, { b1: true, b2: true, b3: true });
    await bed.export(cluster, name);
  }
  return [...(await lose(bed, false)), ...(await lose(bed, true))];
}

export const measurements: readonly Measurement[] = [{ name: 'cluster dies', measure }];
