/** What one changed endpoint costs a hub of a thousand members, in a process of its own without a network. */
import { join } from 'node:path';
import type { EndpointCost } from '../../../interconnect/hub/exports-cost.ts';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import type { McsRow, Measurement } from './measurement.ts';

async function measure(): Promise<McsRow[]> {
  const argv = [node24, join(import.meta.dirname, 'hub-inside.ts')];
  const output = await run(argv, { timeoutMs: 300_000 });
  const [small, large] = JSON.parse(output.trim().split('\n').at(-1) ?? '') as [EndpointCost, EndpointCost];
  const what = '1,000 members × 100 exports, one endpoint changes';
  const row = { floorIs: 'the same with 50 members' };
  return [
    { ...row, what: `${what}: hub and importers`, unit: 'ms of CPU', ours: large.cpuMs, target: 5, floor: small.cpuMs },
    {
      ...row,
      what: `${what}: to each importer`,
      unit: 'bytes',
      ours: large.importer,
      target: 2048,
      floor: small.importer,
    },
    { ...row, what: `${what}: to all others`, unit: 'bytes', ours: large.others, target: 0, floor: small.others },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'hub of a thousand members', measure }];
