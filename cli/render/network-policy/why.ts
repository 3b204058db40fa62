/** Renders as text whether NetworkPolicies allow a connection. Pure. */
import type { EndAnswer, FamilyAnswer, PolicyWhy, Verdict } from '../../plan/network-policy/why.ts';
import type { Paint } from '../paint.ts';
import { type Cell, renderSection, renderTable, toned } from '../table.ts';

const toneOf = { allowed: 'good', denied: 'bad', 'allowed at some ports': 'doubtful' } as const;

function painted(verdict: Verdict, paint: Paint): string {
  return paint(verdict, toneOf[verdict]);
}

export function renderPolicyWhy(why: PolicyWhy, paint: Paint): string {
  const { from, to, port, families, problems } = why;
  const lines = [
    `${from} → ${to}${port === '' ? '' : ` at ${port}`}`,
    ...families.flatMap((family) => familyLines(why, family, paint)),
    ...renderSection(
      'To know',
      problems.map(({ code, message }) => `${paint(code, 'doubtful')}: ${message}`),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function familyLines(
  why: PolicyWhy,
  { source, destination, verdict, ends }: FamilyAnswer,
  paint: Paint,
): readonly string[] {
  return [
    `  ${source} → ${destination} is ${painted(verdict, paint)}`,
    ...ends.flatMap((end) => endLines(end.direction === 'ingress' ? why.to : why.from, end, paint)),
  ];
}

function endLines(text: string, { direction, verdict, because, rules }: EndAnswer, paint: Paint): readonly string[] {
  const rows = rules.map(({ policy, rule, isPeer, isPort, ports }): readonly Cell[] => {
    const yes = (is: boolean): Cell => toned(is ? 'yes' : 'no', is ? 'good' : 'bad');
    if (rule === '') return [policy, 'no rules'];
    return [policy, rule, yes(isPeer), yes(isPort), ports];
  });
  const table = renderTable(['POLICY', 'RULE', 'OTHER END', 'PORT', 'PORTS'], rows, paint);
  return ['', `${direction} of ${text}: ${painted(verdict, paint)}, ${because}`, ...table.map((line) => `  ${line}`)];
}
