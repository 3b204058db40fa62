/**
 * `make bench-bgp`: a bed of its own, every measurement of BGP in turn, one table, which replaces the one in
 * docs/performance.md. A failed measurement is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it; the page is left unchanged. BGP_PROFILE=folder: CPU profiles of speakers.
 */
import { versionIn } from 'ovsdb-client/testing';
import { gobgpdBinaries } from '../../../lib/gobgp/src/testing.ts';
import { tryRun } from '../../lab/run.ts';
import { measureEach, notMeasured } from '../measure-each.ts';
import { machine, rewritePart } from '../page.ts';
import { runBench } from '../program.ts';
import { BgpBed } from './bed.ts';
import { idleMeasurements as idle, measurements as churn } from './load.bench.ts';
import { renderRows } from '../promise.ts';
import { isWhole, selected } from '../selection.ts';
import type { Measurement } from './measurement.ts';
import { measurements as bulk } from './bulk.bench.ts';
import { measurements as client } from './client.bench.ts';
import { measurements as drain } from './drain.bench.ts';
import { measurements as neighbors } from './neighbors.bench.ts';
import { measurements as peers } from './peers.bench.ts';
import { measurements as reasons } from './reasons.bench.ts';
import { measurements as speakerAndGobgpd } from './restart.bench.ts';
import { measurements as route } from './route.bench.ts';

const measurements: readonly Measurement[] = selected<Measurement>([
  ...client,
  ...idle,
  ...route,
  ...bulk,
  ...speakerAndGobgpd,
  ...peers,
  ...churn,
  ...neighbors,
  ...reasons,
  ...drain,
]);

let bed: BgpBed | undefined;

async function programs(): Promise<string> {
  const version = async (name: string, ...argv: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await tryRun([...argv, '--version']);
    return `${name} ${versionIn(`${stdout}${stderr}`)}`;
  };
  const all = await Promise.all([
    version('gobgpd', gobgpdBinaries()[0]?.path ?? ''),
    version('FRR', '/usr/lib/frr/bgpd'),
    version('BIRD', 'bird'),
  ]);
  return all.join(', ');
}

async function bench(): Promise<void> {
  bed = await BgpBed.open();
  const { rows, failures } = await measureEach(measurements, bed);
  const text = `${await machine(await programs())}\n\n${renderRows(rows)}${notMeasured(failures)}`;
  console.log(`\n${text}`);
  if (isWhole) rewritePart('bgp', text);
  if (failures.length > 0) process.exitCode = 1;
}

await runBench('bgp', bench, async () => bed?.close());
