/**
 * The active gateway's vswitchd killed under flows between clusters, against the time its tunnels' BFD takes to notice.
 * `make bench-ic` measures the other ways to lose a gateway.
 */
import type { LabHandle } from '../lab/lib/lab.ts';
import { IcBed } from './ic/bed.ts';
import type { Row } from './row.ts';

const runs = 3;

export async function measure(lab: LabHandle): Promise<Row[]> {
  const bed = new IcBed(lab);
  await bed.prepare();
  const gaps: number[] = [];
  for (let at = 0; at < runs; at += 1) {
    await bed.settle();
    const gateway = await bed.carrierOf('east', ['east', 'west']);
    const report = await bed.flowsDuring(['east', 'west'], () => lab.kill(`east/${gateway}`, 'ovs-vswitchd'));
    gaps.push(report.udp.gapMs.max);
  }
  await bed.settle();
  for (const { name } of bed.members) await bed.removePod(name);
  return [
    {
      what: `Gateway killed under 100 flows, each sending every 20 ms, longest gap of ${String(runs)} runs`,
      unit: 'ms',
      ours: Math.max(...gaps),
      floor: await bed.detectionMs(),
      floorIs: 'BFD detection as configured: interval × multiplier',
    },
  ];
}
