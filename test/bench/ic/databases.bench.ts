/** The interconnect databases are unreachable, lose one of three servers, or lose all data: no packet is lost. */
import { setTimeout as pause } from 'node:timers/promises';
import { ovnProgram } from 'ovsdb-client/testing';
import { join } from 'node:path';
import { tryRun } from '../../lab/run.ts';
import type { IcBed } from './bed.ts';
import { hubOf, killDatabases, wipeDatabases } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { RouteWatch } from './routes.ts';

const direction = ['east', 'west'] as const;
/** The target is two minutes; the short form is equivalent, because no timer of any component is longer. */
const outageMs = Number(process.env['IC_OUTAGE_SECONDS'] ?? 20) * 1000;

function rowOf(what: string, lost: number, floor: number): IcRow {
  return {
    what: `${what}: packets lost`,
    unit: 'packets',
    ours: lost,
    target: 0,
    floor,
    floorIs: 'the same flows for as long while nothing happens',
  };
}

async function lostDuring(bed: IcBed, action: () => Promise<unknown>): Promise<number> {
  const report = await bed.flowsDuring(direction, action);
  return report.udp.lost;
}

const lostWithoutFault = (bed: IcBed): Promise<number> => lostDuring(bed, () => pause(outageMs));

async function measureOutage(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const floor = await lostWithoutFault(bed);
  const lost = await lostDuring(bed, async () => {
    await killDatabases(bed.lab);
    await pause(outageMs);
    await bed.lab.heal();
    await pause(5000);
  });
  return [rowOf(`IC databases down for ${String(outageMs / 1000)} s, then back`, lost, floor)];
}

/** The component that leads the raft of a database. */
async function leaderOf(bed: IcBed): Promise<string> {
  const { dir } = hubOf(bed.lab);
  for (const name of ['icsb', 'icsb2', 'icsb3']) {
    const argv = [ovnProgram('ovn-appctl'), '-t', join(dir, `${name}.ctl`), 'cluster/status', 'OVN_IC_Southbound'];
    if ((await tryRun(argv)).stdout.includes('Role: leader')) return name;
  }
  throw new Error('the raft of OVN_IC_Southbound has no leader');
}

async function oneOfThree(bed: IcBed): Promise<IcRow[]> {
  if (hubOf(bed.lab).databases !== 3) throw new Error('the databases of this lab are no raft of three');
  await bed.settle();
  const floor = await lostWithoutFault(bed);
  const subnet = { name: 'bench-ic-raft', cidr: '10.60.0.0/24' };
  const routes = await RouteWatch.open(bed.lab.cluster('west'));
  try {
    const lost = await lostDuring(bed, async () => {
      await bed.lab.kill('hub', await leaderOf(bed));
      // Besides packets: the two remaining servers must still accept changes.
      await bed.addSubnet('east', subnet.name, subnet.cidr);
      await routes.untilPrefix(subnet.cidr, true);
      await bed.lab.heal();
      await pause(5000);
    });
    return [rowOf('Leader of the raft of three killed, and a Subnet made', lost, floor)];
  } finally {
    await bed.removeSubnet('east', subnet.name);
    await routes.close();
  }
}

async function measureWipe(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const floor = await lostWithoutFault(bed);
  const lost = await lostDuring(bed, async () => {
    await wipeDatabases(bed.lab);
    await pause(3000);
    await bed.lab.heal();
    await pause(outageMs);
  });
  await bed.settle();
  return [rowOf('IC databases wiped and started empty', lost, floor)];
}

export const measurements: readonly Measurement[] = [
  { name: 'databases away', measure: measureOutage },
  { name: 'one of three databases killed', measure: oneOfThree },
  { name: 'databases wiped', measure: measureWipe },
];
