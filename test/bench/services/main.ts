/**
 * `make bench-services`: every measurement of Services in turn, one table, which replaces the one in docs/performance.md. A failed measurement
 * is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it. SERVICES=n: fewer Services than ten thousand. Both leave the page unchanged.
 */
import { versionIn } from 'ovsdb-client/testing';
import { toolsFolder } from '../../../lib/kube/testing.ts';
import { run } from '../../lab/run.ts';
import { measureEach, notMeasured } from '../measure-each.ts';
import { machine, ovnVersions, rewritePart } from '../page.ts';
import { renderRows } from '../promise.ts';
import { isWhole, selected } from '../selection.ts';
import { type Measurement, peerName } from './measurement.ts';
import { measurements as path } from './path.bench.ts';
import { measurements as scale } from './scale.bench.ts';

const measurements: readonly Measurement[] = selected([...scale, ...path]);

async function programs(): Promise<string> {
  const [proxy, nft] = await Promise.all(
    [
      [`${toolsFolder()}/kube-proxy`, '--version'],
      ['nft', '--version'],
    ].map(async (argv) => versionIn(await run(argv))),
  );
  return `${await ovnVersions()} · kube-proxy ${proxy ?? ''}, nft ${nft ?? ''}`;
}

const { rows, failures } = await measureEach(measurements, undefined);
const text = `${await machine(await programs())}\n\n${renderRows(rows, peerName)}${notMeasured(failures)}`;
console.log(`\n${text}`);
if (isWhole && process.env['SERVICES'] === undefined) rewritePart('services', text);
process.exit(failures.length > 0 ? 1 : 0);
