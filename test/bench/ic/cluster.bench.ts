/** A whole cluster loses its power and gets it back. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterLayout } from '../../lab/layout.ts';
import type { IcBed } from './bed.ts';
import { killCluster, reviveCluster } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { RouteWatch } from './routes.ts';

const victim = 'north';
/** How long it is dead: longer than its session at the hub lives. */
const deadMs = 15_000;

/** Kills the cluster; returns the seconds until no other cluster has a route to it. */
async function untilForgotten(bed: IcBed, cluster: ClusterLayout): Promise<number> {
  const others = bed.members.filter(({ name }) => name !== cluster.name);
  const watches = await Promise.all(others.map((other) => RouteWatch.open(other)));
  try {
    const gone = Promise.all(watches.map((watch) => watch.untilPrefix(cluster.podCidr, false)));
    const [started, at] = await Promise.all([killCluster(bed.lab, cluster), gone]);
    return (Math.max(...at) - started) / 1000;
  } finally {
    await Promise.all(watches.map((watch) => watch.close()));
  }
}

/** From the start of its processes: until another cluster's pod reaches its pod, and until its own node does, in seconds. */
async function untilBack(bed: IcBed, cluster: ClusterLayout): Promise<readonly [far: number, near: number]> {
  await reviveCluster(bed.lab, cluster);
  const revived = performance.now();
  const at = await Promise.all([bed.untilAnswers('east', victim, 60_000), bed.untilLocalAnswer(victim)]);
  return [(at[0] - revived) / 1000, (at[1] - revived) / 1000];
}

async function dieAndReturn(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const cluster = bed.lab.cluster(victim);
  try {
    const gone = await untilForgotten(bed, cluster);
    await pause(deadMs);
    const [far, near] = await untilBack(bed, cluster);
    return [
      {
        what: 'A whole cluster dies, until no other has a route to it',
        unit: 's',
        ours: gone,
        target: 1,
        floor: (await bed.detectionMs()) / 1000,
        floorIs: 'BFD detection as configured: interval × multiplier',
      },
      {
        what: 'It returns, from the start of its processes until a ping from another',
        unit: 's',
        ours: far,
        target: 5,
        floor: near,
        floorIs: 'its own node reaches its own pod',
      },
    ];
  } finally {
    await reviveCluster(bed.lab, cluster);
  }
}

export const measurements: readonly Measurement[] = [{ name: 'a cluster dies and returns', measure: dieAndReturn }];
