/** Renders the checks before a join. Pure. */
import type { JoinReport } from '../plan/join-check/check.ts';
import { plural } from '../model/units.ts';
import { renderCauses } from './causes.ts';
import type { Paint } from './paint.ts';
import { renderSection, renderTable, toned, type Cell } from './table.ts';

const words = { ok: 'ok', warning: 'warn', problem: 'FAIL', unknown: 'unknown' } as const;
const tones = { ok: 'good', warning: 'doubtful', problem: 'bad', unknown: 'doubtful' } as const;

export function renderJoinReport({ cluster, isWell, checks }: JoinReport, paint: Paint): string {
  const problems = checks.flatMap((one) => one.problems);
  const rows = checks.map(({ name, state, evidence }): readonly Cell[] => [
    name,
    toned(words[state], tones[state]),
    evidence,
  ]);
  const verdict = isWell
    ? paint('nothing that was checked prevents that it joins', 'good')
    : paint(`${plural(problems.length, 'problem')} to solve first`, 'bad');
  const lines = [
    `${paint(cluster, 'strong')}: ${verdict}`,
    ...renderCauses('Problems', problems, 'bad', paint),
    ...renderCauses(
      'Warnings',
      checks.flatMap((one) => one.warnings),
      'doubtful',
      paint,
    ),
    ...renderSection('Checks', renderTable(['CHECK', 'STATE', 'EVIDENCE'], rows, paint), paint),
  ];
  return `${lines.join('\n')}\n`;
}
