/** Renders the results of `isthmus check` as text: problems first, then warnings, then every check. Pure. */
import type { CheckState } from '../plan/check/outcome.ts';
import type { Report } from '../plan/check/check.ts';
import { renderCauses, renderUnreadable } from './causes.ts';
import type { Paint, Tone } from './paint.ts';
import { renderSection, renderTable, toned } from './table.ts';
import { plural } from '../model/units.ts';

const tones: Readonly<Record<CheckState, Tone>> = {
  ok: 'good',
  warning: 'doubtful',
  problem: 'bad',
  unknown: 'doubtful',
};

const onNodes =
  'kernel modules, MTU, ports of programs that are no pods, CNI configurations: only the nodes can tell (--on-nodes)';

export function renderReport(report: Report, paint: Paint): string {
  const { cluster, problems, warnings, checks, unreadable } = report;
  const rows = checks.map(({ name, state, evidence }) => [name, toned(state, tones[state]), evidence]);
  const lines = [
    `${paint(cluster, 'strong')}: ${verdict(report, paint)}`,
    ...renderCauses('Problems', problems, 'bad', paint),
    ...renderCauses('Warnings', warnings, 'doubtful', paint),
    ...renderUnreadable(unreadable, paint),
    ...renderSection('Checks', renderTable(['CHECK', 'STATE', 'EVIDENCE'], rows, paint), paint),
  ];
  if (!report.hasLooked) lines.push('', paint(onNodes, 'faint'));
  return `${lines.join('\n')}\n`;
}

function verdict({ isWell, problems, warnings }: Report, paint: Paint): string {
  if (problems.length > 0) return paint(`${plural(problems.length, 'problem')} to solve first`, 'bad');
  if (!isWell) return paint('nothing in what could be read prevents the installation', 'doubtful');
  if (warnings.length > 0)
    return paint(`nothing prevents the installation; ${plural(warnings.length, 'warning')}`, 'good');
  return paint('nothing prevents the installation', 'good');
}
