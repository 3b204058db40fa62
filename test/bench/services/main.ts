/**
 * `make bench-services`: every measurement of Services in turn, one table, which replaces the one in docs/performance.md. A failed measurement
 * is named below the table, and the command exits with 1.
 * ONLY=text: those whose name has it, and the page is left as it is. SERVICES=n: fewer than ten thousand, and the page is left as it is, too.
 */
import { versionIn } from 'ovsdb-client/testing';
import { toolsFolder } from '../../../lib/kube/testing.ts';
import { run } from '../../lab/run.ts';
import { machine, ovnVersions, rewritePart } from '../page.ts';
import { renderRows } from '../promise.ts';
import { type Measurement, peerName, type ServiceRow } from './measurement.ts';
import { measurements as path } from './path.bench.ts';
import { measurements as scale } from './scale.bench.ts';

const only = process.env['ONLY'] ?? '';
const isWhole = only === '' && process.env['SERVICES'] === undefined;
const all: readonly Measurement[] = [...scale, ...path];

async function programs(): Promise<string> {
  const [proxy, nft] = await Promise.all(
    [
      [`${toolsFolder()}/kube-proxy`, '--version'],
      ['nft', '--version'],
    ].map(async (argv) => versionIn(await run(argv))),
  );
  return `${await ovnVersions()} · kube-proxy ${proxy ?? ''}, nft ${nft ?? ''}`;
}

const rows: ServiceRow[] = [];
const failures: string[] = [];
for (const { name, measure } of all.filter((each) => each.name.includes(only))) {
  console.log(`         ${name}`);
  try {
    const measured = await measure();
    for (const { what, unit, ours, floor } of measured)
      console.log(`           ${what}: ${ours.toFixed(2)} ${unit}, floor ${floor.toFixed(2)}`);
    rows.push(...measured);
  } catch (error) {
    console.error(error);
    failures.push(`${name}: ${(error as Error).message.split('\n')[0] ?? ''}`);
  }
}
const missing = failures.map((failure) => `\n\nNot measured: ${failure}`).join('');
const text = `${await machine(await programs())}\n\n${renderRows(rows, peerName)}${missing}`;
console.log(`\n${text}`);
if (isWhole) rewritePart('services', text);
process.exit(failures.length > 0 ? 1 : 0);
