/**
 * `make bench-node`: a lab of its own with one node, every measurement of the daemon in turn, one table, which replaces the one
 * in docs/performance.md. A failed measurement is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it; the page is left unchanged.
 */
import { join } from 'node:path';
import { openLab } from '../../lab/lib/lab.ts';
import { upFromEnvironment } from '../../lab/main.ts';
import { measureEach, notMeasured } from '../measure-each.ts';
import { machine, rewritePart } from '../page.ts';
import { runBench } from '../program.ts';
import { renderRows } from '../promise.ts';
import { isWhole, selected } from '../selection.ts';
import { measurements as add } from './add.bench.ts';
import { measurements as idle } from './idle.bench.ts';
import { measurements as kept } from './kept.bench.ts';
import type { Measurement, NodeBed } from './measurement.ts';
import { measurements as ofSwitch } from './switch.bench.ts';

const topology = join(import.meta.dirname, 'one-node.yaml');
const measurements: readonly Measurement[] = selected([...add, ...kept, ...idle, ...ofSwitch]);

async function bench(name: string): Promise<void> {
  await upFromEnvironment({ ...process.env, LAB: name, TOPOLOGY: topology, LAB_WITHOUT: '' });
  const lab = openLab(name);
  const [cluster] = lab.layout.clusters;
  const [node] = cluster?.nodes ?? [];
  if (cluster === undefined || node === undefined) throw new Error(`${topology} has no node`);
  const bed: NodeBed = { lab, cluster: cluster.name, node };
  const { rows, failures } = await measureEach(measurements, bed);
  const text = `${await machine()}\n\n${renderRows(rows)}${notMeasured(failures)}`;
  console.log(`\n${text}`);
  if (isWhole) rewritePart('node', text);
  if (failures.length > 0) process.exitCode = 1;
}

await runBench('node', bench);
