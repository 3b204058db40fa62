/**
 * `make bench-policy`: every measurement of NetworkPolicies in turn, one table, which replaces the one in docs/performance.md. A failed measurement
 * is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it. PODS, POLICIES, LABELS, CREATED, EDITS=n: other numbers than those of the targets. All leave the
 * page unchanged.
 */
import { measureEach, notMeasured } from '../measure-each.ts';
import { machine, rewritePart } from '../page.ts';
import { renderRows } from '../promise.ts';
import { isWhole, selected } from '../selection.ts';
import type { Measurement } from './measurement.ts';
import { measurements as edits } from './edits.bench.ts';
import { measurements as flows } from './flows.bench.ts';
import { measurements as label } from './label.bench.ts';
import { measurements as pod } from './pod.bench.ts';
import { measurements as scale } from './scale.bench.ts';
import { isFullSize } from './sizes.ts';

const measurements: readonly Measurement[] = selected([...pod, ...label, ...scale, ...flows, ...edits]);

const { rows, failures } = await measureEach(measurements, undefined);
const text = `${await machine()}\n\n${renderRows(rows)}${notMeasured(failures)}`;
console.log(`\n${text}`);
if (isWhole && isFullSize) rewritePart('policies', text);
process.exit(failures.length > 0 ? 1 : 0);
