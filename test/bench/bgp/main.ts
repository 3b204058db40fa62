/**
 * `make bench-bgp`: a bed of its own, every measurement of BGP in turn, one table, which replaces the one in
 * docs/performance.md. A failed measurement is named below the table, and the command exits with 1.
 * ONLY=text: those whose name has it, and the page is left as it is. BGP_PROFILE=folder: CPU profiles of speakers.
 */
import { versionIn } from 'ovsdb-client/testing';
import { gobgpdBinaries } from '../../../lib/gobgp/src/testing.ts';
import { tryRun } from '../../lab/run.ts';
import { machine, rewritePart } from '../page.ts';
import { runBench } from '../program.ts';
import { BgpBed } from './bed.ts';
import { idleMeasurements as idle, measurements as churn } from './load.bench.ts';
import { renderRows } from '../promise.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { measurements as bulk } from './bulk.bench.ts';
import { measurements as client } from './client.bench.ts';
import { measurements as drain } from './drain.bench.ts';
import { measurements as neighbors } from './neighbors.bench.ts';
import { measurements as peers } from './peers.bench.ts';
import { measurements as reasons } from './reasons.bench.ts';
import { measurements as speakerAndGobgpd } from './restart.bench.ts';
import { measurements as route } from './route.bench.ts';

const only = process.env['ONLY'] ?? '';
const all: readonly Measurement[] = [
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
];

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
  const rows: BgpRow[] = [];
  const failures: string[] = [];
  bed = await BgpBed.open();
  for (const { name, measure } of all.filter((each) => each.name.includes(only))) {
    console.log(`         ${name}`);
    try {
      const measured = await measure(bed);
      for (const { what, ours, floor, unit } of measured)
        console.log(`           ${what}: ${ours.toFixed(2)} ${unit}, floor ${floor.toFixed(2)}`);
      rows.push(...measured);
    } catch (error) {
      console.error(error);
      failures.push(`${name}: ${(error as Error).message.split('\n')[0] ?? ''}`);
    }
  }
  const missing = failures.map((failure) => `\n\nNot measured: ${failure}`).join('');
  const text = `${await machine(await programs())}\n\n${renderRows(rows)}${missing}`;
  console.log(`\n${text}`);
  if (only === '') rewritePart('bgp', text);
  if (failures.length > 0) process.exitCode = 1;
}

await runBench('bgp', bench, async () => bed?.close());
