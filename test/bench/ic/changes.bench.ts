/** An operator's changes to gateways and paths under traffic: none may break a connection. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FlowReport } from '../flows/report.ts';
import type { IcBed } from './bed.ts';
import { hubHasFlag, restartHub } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const direction = ['east', 'west'] as const;
const label = 'ovn.kubernetes.io/ic-gw';
const streams = 10;
const targetMs = 100;
const changeTimeoutMs = 60_000;

function rowsOf(what: string, report: FlowReport): IcRow[] {
  const { intervalMs, udp, tcp } = report;
  return [
    {
      what: `${what}: longest gap of ${String(udp.flows)} flows`,
      unit: 'ms',
      ours: udp.gapMs.max,
      target: targetMs,
      floor: intervalMs,
      floorIs: 'the interval in which each flow sends',
    },
    {
      what: `${what}: TCP connections lost of ${String(tcp.flows)}`,
      unit: 'resets',
      ours: tcp.resets,
      target: 0,
      floor: 0,
      floorIs: 'none',
    },
  ];
}

/** Flows during `change` and until the lab is steady again. */
async function flowsDuring(bed: IcBed, change: () => Promise<unknown>, afterMs: number): Promise<FlowReport> {
  return bed.flowsDuring(direction, change, { tcp: streams, afterMs });
}

async function untilNotHolder(bed: IcBed, node: string): Promise<void> {
  await eventually(
    `${node} to hold no path`,
    async () => {
      const holders = await bed.holders('east');
      return ![...holders.values()].includes(node) || notYet([...holders].join(' '));
    },
    changeTimeoutMs,
  );
}

/** After a change the agents wait for the hold-down before traffic returns to a moved path. */
async function restMs(bed: IcBed): Promise<number> {
  return (await bed.holdDownMs()) + 5000;
}

async function failback(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const gateway = await bed.carrierOf('east', direction);
  await bed.lab.kill(`east/${gateway}`, 'ovs-vswitchd');
  await pause(3000);
  const report = await flowsDuring(
    bed,
    async () => {
      await bed.lab.heal();
      await bed.untilPathsAreUp();
    },
    await restMs(bed),
  );
  return rowsOf('A gateway that was killed returns', report);
}

async function setDrain(bed: IcBed, node: string, drain: boolean): Promise<void> {
  const patch = JSON.stringify({ spec: { drain } });
  await bed.lab.kubectl('east', ['patch', 'interconnectgateway', node, '--type=merge', '-p', patch]);
}

async function drain(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const gateway = await bed.carrierOf('east', direction);
  const afterMs = await restMs(bed);
  try {
    const drained = await flowsDuring(
      bed,
      async () => {
        await setDrain(bed, gateway, true);
        await untilNotHolder(bed, gateway);
      },
      afterMs,
    );
    const returned = await flowsDuring(bed, () => setDrain(bed, gateway, false), afterMs + changeTimeoutMs / 4);
    return [...rowsOf('Gateway drained', drained), ...rowsOf('Drain ended', returned)];
  } finally {
    await setDrain(bed, gateway, false);
  }
}

async function setLabel(bed: IcBed, node: string, value: string): Promise<void> {
  await bed.lab.kubectl('east', ['label', 'node', node, '--overwrite', value]);
}

async function relabel(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const gateway = await bed.carrierOf('east', direction);
  const afterMs = await restMs(bed);
  try {
    const removed = await flowsDuring(
      bed,
      async () => {
        await setLabel(bed, gateway, `${label}-`);
        await untilNotHolder(bed, gateway);
      },
      afterMs,
    );
    const added = await flowsDuring(bed, () => setLabel(bed, gateway, `${label}=true`), afterMs + changeTimeoutMs / 4);
    return [...rowsOf('Gateway label removed', removed), ...rowsOf('Gateway label added', added)];
  } finally {
    await setLabel(bed, gateway, `${label}=true`);
  }
}

/** Until east has as many routes to west's pods as there are paths. */
async function untilPathsCarry(bed: IcBed, count: number): Promise<void> {
  const prefix = bed.lab.cluster('west').podCidr;
  const find = ['--bare', '--columns=nexthop', 'find', 'Logical_Router_Static_Route', `ip_prefix="${prefix}"`];
  await eventually(
    `${String(count)} routes to ${prefix}`,
    async () => {
      const hops = (await bed.lab.nbctl('east', find)).split('\n').filter((line) => line !== '');
      return hops.length === count || notYet(`next hops: ${hops.join(', ')}`);
    },
    changeTimeoutMs,
  );
}

async function morePaths(bed: IcBed): Promise<IcRow[]> {
  if (!(await hubHasFlag(bed.lab, 'paths'))) throw new Error('this hub has no flag --paths');
  await bed.settle();
  await untilPathsCarry(bed, 2);
  const afterMs = await restMs(bed);
  const change = async (paths: string | undefined, count: number): Promise<FlowReport> =>
    flowsDuring(
      bed,
      async () => {
        await restartHub(bed.lab, { paths });
        await untilPathsCarry(bed, count);
      },
      afterMs,
    );
  const { paths: before } = await restartHub(bed.lab, { paths: '2' });
  await bed.settle();
  try {
    const more = await change('4', 4);
    const less = await change('2', 2);
    return [...rowsOf('Paths from 2 to 4', more), ...rowsOf('Paths from 4 to 2', less)];
  } finally {
    await restartHub(bed.lab, { paths: before });
  }
}

export const measurements: readonly Measurement[] = [
  { name: 'a gateway returns', measure: failback },
  { name: 'a gateway is drained', measure: drain },
  { name: 'a gateway is removed and restored', measure: relabel },
  { name: 'paths from 2 to 4 and back', measure: morePaths },
];
