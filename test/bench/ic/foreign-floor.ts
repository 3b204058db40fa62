/** The floor: stock `ovn-ic` learns the same rows in a zone of its own. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OvsdbClient } from 'ovsdb-client';
import { pidOf } from '../../lab/component.ts';
import { type ForeignZone, startForeignZone } from '../../lab/foreign.ts';
import { cpuSeconds } from '../processes.ts';
import type { IcBed } from './bed.ts';
import { type ForeignClusters, nexthopOf, prefixOf, routeRow } from './foreign-rows.ts';
import { RouteWatch } from './routes.ts';
import { removeZones, zoneOf } from './zones.ts';

const changes = 3;
const timeoutMs = 180_000;
const name = 'plain';

export interface OvnIcFigures {
  /** From when its router is attached to the transit switch. */
  readonly coldSeconds: number;
  readonly oneMs: number;
  readonly oneCpuSeconds: number;
}

/** The rows exist already; the zone is removed afterwards with all its rows. */
export async function measureOvnIc(bed: IcBed, plan: ForeignClusters, southbound: OvsdbClient): Promise<OvnIcFigures> {
  const zone = await startForeignZone(bed.lab.layout, { name, podCidr: '10.30.0.0/16', octet: 200 });
  try {
    return await learnAll(zone, plan, southbound);
  } finally {
    await zone.stop();
    await removeZones(southbound, (zoneName) => zoneName === name);
  }
}

async function learnAll(zone: ForeignZone, plan: ForeignClusters, southbound: OvsdbClient): Promise<OvnIcFigures> {
  const routes = await RouteWatch.open(zone);
  // Tunnels to all these gateways are not part of the measurement.
  freeze(zone, 'n1/ovn-controller');
  try {
    const count = plan.clusters * plan.routesEach;
    const started = performance.now();
    await zone.attach(plan.transitSwitch, `${nexthopOf(plan, plan.clusters + 1)}/${plan.network.split('/')[1] ?? ''}`);
    const learned = await routes.until('all routes by ovn-ic', ({ size }) => size >= count, timeoutMs);
    // ovn-ic cannot write its port's row without northd; it can learn a route without.
    freeze(zone, 'northd');
    return { coldSeconds: (learned - started) / 1000, ...(await oneByOne(zone, plan, southbound, routes)) };
  } finally {
    await routes.close();
  }
}

async function oneByOne(
  zone: ForeignZone,
  plan: ForeignClusters,
  southbound: OvsdbClient,
  routes: RouteWatch,
): Promise<Pick<OvnIcFigures, 'oneMs' | 'oneCpuSeconds'>> {
  const pid = pidIn(zone, 'ovn-ic');
  const before = await cpuAtRest(pid);
  const times: number[] = [];
  for (let at = 0; at < changes; at += 1) {
    const prefix = prefixOf(plan.clusters * plan.routesEach + 1000 + at);
    const begun = performance.now();
    const arrived = routes.untilPrefix(prefix, true, timeoutMs);
    await southbound.transact([routeRow(plan, 1, zoneOf(southbound, 'scale-1'), prefix)]);
    times.push((await arrived) - begun);
  }
  return { oneMs: Math.max(...times), oneCpuSeconds: ((await cpuAtRest(pid)) - before) / changes };
}

/** CPU time of a process once it has used none for a second. @throws Error if it never rests. */
async function cpuAtRest(pid: number): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  for (let before = cpuSeconds(pid); ; before = cpuSeconds(pid)) {
    await pause(1000);
    if (cpuSeconds(pid) - before < 0.02) return before;
    if (performance.now() > deadline) throw new Error(`ovn-ic of ${name} does not come to rest`);
  }
}

function freeze(zone: ForeignZone, component: string): void {
  process.kill(pidIn(zone, component), 'SIGSTOP');
}

/** @throws Error if it is dead. */
function pidIn(zone: ForeignZone, component: string): number {
  const [last = '', ...before] = component.split('/').toReversed();
  const pid = pidOf({ dir: join(zone.dir, ...before.toReversed()), name: last });
  if (pid === undefined) throw new Error(`${component} of ${zone.name} is dead`);
  return pid;
}
