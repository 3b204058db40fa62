/** The gateway that carries traffic dies or freezes, at the sender's or the receiver's side, with and without a hub. */
import { quantile } from '../row.ts';
import type { IcBed } from './bed.ts';
import { gatewayFaults, loseGateway, whileHubIsFrozen, type GatewayFault } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';

const direction = ['east', 'west'] as const;
const targetMs = 400;

async function measureLoss(bed: IcBed, cluster: string, fault: GatewayFault, isHubFrozen: boolean): Promise<IcRow[]> {
  await bed.settle();
  const node = await bed.carrierOf(cluster, direction);
  const work = () => bed.flowsDuring(direction, () => loseGateway(bed.lab, `${cluster}/${node}`, fault));
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
    gatewayFaults.map((fault) => ({
      name: `gateway of ${cluster} ${fault}${isHubFrozen ? ', hub frozen' : ''}`,
      measure: (bed: IcBed) => measureLoss(bed, cluster, fault, isHubFrozen),
    })),
  ),
);
