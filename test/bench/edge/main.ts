/**
 * `make bench-edge`: every measurement of addresses outside in turn, one table, which replaces the one in docs/performance.md. A failed
 * measurement is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it. RULES=n: a fraction 1/n of the objects. Both leave the page unchanged.
 */
import { measureEach, notMeasured } from '../measure-each.ts';
import { machine, rewritePart } from '../page.ts';
import { renderRows } from '../promise.ts';
import { isWhole, selected } from '../selection.ts';
import type { Measurement } from './measurement.ts';
import { measurements as egress } from './egress.bench.ts';
import { measurements as path } from './path.bench.ts';
import { isFullSize, measurements as scale } from './scale.bench.ts';

const measurements: readonly Measurement[] = selected([...scale, ...path, ...egress]);

const { rows, failures } = await measureEach(measurements, undefined);
const text = `${await machine()}\n\n${renderRows(rows)}${notMeasured(failures)}`;
console.log(`\n${text}`);
if (isWhole && isFullSize) rewritePart('edge', text);
process.exit(failures.length > 0 ? 1 : 0);
