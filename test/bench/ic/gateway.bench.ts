/** The gateway that carries traffic dies or freezes, at the sender's or the receiver's side, with and without a hub. */
import { quantile } from '../row.ts';
import type { IcBed } from './bed.ts';
import { signal, whileHubIsFrozen } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';

const direction = ['east', 'west'] as const;
const targetMs = 400;

const faults = {
  killed: (bed: IcBed, cluster: string, node: string) => bed.lab.kill(`${cluster}/${node}`, 'ovs-vswitchd'),
  frozen: (bed: IcBed, cluster: string, node: string) => {
    signal(bed.lab, `${cluster}/${node}`, 'ovs-vswitchd', 'SIGSTOP');
    return Promise.resolve();
  },
};

async function lose(bed: IcBed, cluster: string, fault: keyof typeof faults, isHubFrozen: boolean): Promise<IcRow[]> {
  await bed.settle();
  const node = await bed.carrierOf(cluster, direction);
  const work = () => bed.flowsDuring(direction, () => faults[fault](bed, cluster, node));
  const report = isHubFrozen ? await whileHubIsFrozen(bed.lab, work) : await work();
  const side = cluster === direction[0] ? 'sender' : 'receiver';
  const hub = isHubFrozen ? ', hub and IC databases frozen' : '';
  const row = {
    unit: 'ms' as const,
    target: targetMs,
    floor: await bed.detectionMs(),
    floorIs: 'BFD detection as configured: interval × multiplier',
  };
  const what = `Gateway of the ${side} ${fault}${hub}: longest gap of ${String(report.udp.flows)} flows`;
  return [
    { ...row, what: `${what}, 99th percentile`, ours: quantile(report.udp.gaps, 0.99) },
    { ...row, what: `${what}, of all`, ours: report.udp.gapMs.max },
  ];
}

export const measurements: readonly Measurement[] = [false, true].flatMap((isHubFrozen) =>
  direction.flatMap((cluster) =>
    (['killed', 'frozen'] as const).map((fault) => ({
      name: `gateway of ${cluster} ${fault}${isHubFrozen ? ', hub frozen' : ''}`,
      measure: (bed: IcBed) => lose(bed, cluster, fault, isHubFrozen),
    })),
  ),
);
