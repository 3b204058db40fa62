/**
 * `make bench-mcs`: runs every measurement of Services and policies of several clusters in a lab of its own and replaces the table in
 * docs/performance.md. A failed measurement is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it; the page stays as it is.
 */
import { join } from 'node:path';
import { takeDown } from '../../lab/down.ts';
import { openLab } from '../../lab/lib/lab.ts';
import { upFromEnvironment } from '../../lab/main.ts';
import { measureEach, notMeasured, type Outcome } from '../measure-each.ts';
import { machine, rewritePart } from '../page.ts';
import { runBench } from '../program.ts';
import { renderRows } from '../promise.ts';
import { isWhole, selected } from '../selection.ts';
import { McsBed } from './bed.ts';
import { measurements as hub } from './hub.bench.ts';
import { measurements as loss } from './loss.bench.ts';
import { measurements as many } from './many.bench.ts';
import type { McsRow } from './measurement.ts';
import { last, measurements as policy } from './policy.bench.ts';
import { measurements as services } from './services.bench.ts';

const TOPOLOGY = join(import.meta.dirname, '../../lab/topologies/pairs.yaml');
const inLab = selected([...services, ...policy, ...many, ...loss, ...last, ...hub]);

async function measureIn(name: string): Promise<Outcome<McsRow>> {
  const bed = new McsBed(openLab(name));
  try {
    await bed.prepare();
    return await measureEach(inLab, bed);
  } finally {
    await bed.close();
  }
}

async function bench(name: string): Promise<void> {
  await upFromEnvironment({ ...process.env, LAB: name, TOPOLOGY, LAB_WITHOUT: 'speaker' });
  const { rows, failures } = await measureIn(name);
  await takeDown(name);
  const text = `${await machine()}\n\n${renderRows(rows)}${notMeasured(failures)}`;
  console.log(`\n${text}`);
  if (isWhole) rewritePart('clusters', text);
  if (failures.length > 0) process.exitCode = 1;
}

await runBench('mcs', bench);
