/** Renders checks as text: failed checks first. Pure. */
import type { Check } from '../plan/verify.ts';
import type { Paint } from './paint.ts';
import { renderTable, toned } from './table.ts';

export function renderChecks(checks: readonly Check[], paint: Paint): string {
  const inOrder = [...checks.filter(({ isWell }) => !isWell), ...checks.filter(({ isWell }) => isWell)];
  const rows = inOrder.map(({ cluster, name, isWell, evidence }) => [
    toned(isWell ? 'ok' : 'FAILED', isWell ? 'good' : 'bad'),
    cluster,
    name,
    evidence,
  ]);
  const ill = checks.filter(({ isWell }) => !isWell).length;
  const verdict =
    ill === 0
      ? paint(`all ${checks.length} checks passed`, 'good')
      : paint(`${ill} of ${checks.length} checks failed`, 'bad');
  return `${[...renderTable(['CHECK', 'CLUSTER', 'WHAT', 'EVIDENCE'], rows, paint), '', verdict].join('\n')}\n`;
}
