/** Renders as text whether policies allow a connection. Pure. */
import type { EndAnswer, FamilyAnswer, PolicyWhy, RuleAnswer, Verdict } from '../../plan/network-policy/why.ts';
import type { EndTrace } from '../../plan/network-policy/trace.ts';
import type { Paint } from '../paint.ts';
import { type Cell, renderSection, renderTable, toned } from '../table.ts';

const toneOf = { allowed: 'good', denied: 'bad', 'allowed at some ports': 'doubtful' } as const;

function painted(verdict: Verdict, paint: Paint): string {
  return paint(verdict, toneOf[verdict]);
}

export function renderPolicyWhy(why: PolicyWhy, paint: Paint): string {
  const { from, to, port, families, problems, ovn } = why;
  const lines = [
    `${from} → ${to}${port === '' ? '' : ` at ${port}`}`,
    ...families.flatMap((family, index) => [...(index === 0 ? [] : ['']), ...familyLines(why, family, paint)]),
    ...ovnLines(ovn, families, paint),
    ...renderSection(
      'To know',
      problems.map(({ code, message }) => `${paint(code, 'doubtful')}: ${message}`),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function familyLines(why: PolicyWhy, family: FamilyAnswer, paint: Paint): readonly string[] {
  const { source, destination, verdict, ends } = family;
  const doubt = why.isComplete ? '' : paint(' by the policies that could be read', 'doubtful');
  return [
    `  ${source} → ${destination} is ${painted(verdict, paint)}${doubt}${portsText(family)}`,
    ...ends.flatMap((end) => endLines(why, end, paint)),
  ];
}

const stateTone = { agrees: 'good', disagrees: 'bad', 'not asked': 'doubtful' } as const;

/** What OVN does with the first packet of the connection. */
function ovnLines(
  { state, detail }: PolicyWhy['ovn'],
  families: readonly FamilyAnswer[],
  paint: Paint,
): readonly string[] {
  if (detail === '') return [];
  if (state === 'not asked') return renderSection('OVN', [`${paint(state, stateTone[state])}: ${detail}`], paint);
  const lines = families.flatMap(({ source, destination, ovn }) =>
    ovn === undefined
      ? []
      : [
          `${source} → ${destination} is ${painted(ovn.verdict, paint)}`,
          ...ovn.ends.map((end) => `  ${traceText(end)}`),
        ],
  );
  return renderSection('OVN', [`${paint(state, stateTone[state])}, by ovn-trace in ${detail}`, ...lines], paint);
}

function traceText({ direction, isPassed, decider, stage, by, agrees }: EndTrace): string {
  const where = stage === '' ? '' : ` in ${stage}`;
  const whose = decider === 'others' ? 'an ACL that is no policy: ' : '';
  const reason = by === '' ? (isPassed ? 'no ACL decides' : 'no ACL of a policy') : whose + by;
  const doubt = agrees === false ? ', and its policies say otherwise' : '';
  return `${direction}: ${isPassed ? 'passes' : 'dropped'}${where}, ${reason}${doubt}`;
}

function portsText({ verdict, ports, ends }: FamilyAnswer): string {
  if (verdict === 'allowed at some ports') return `: ${ports.join(', ')}`;
  const isMismatch = verdict === 'denied' && ends.every((end) => end.verdict !== 'denied');
  return isMismatch ? ', the ends allow no port in common' : '';
}

function endLines(why: PolicyWhy, { direction, verdict, because, rules }: EndAnswer, paint: Paint): readonly string[] {
  const text = direction === 'ingress' ? why.to : why.from;
  const hasTiers = rules.some(({ tier }) => tier !== 'NetworkPolicy');
  const heads = ['TIER', 'POLICY', 'RULE', 'NAME', 'ACTION', 'OTHER END', 'PORT', 'PORTS', 'DECIDES'];
  const rows = rules.map((rule) => ruleCells(rule, why.port === '', hasTiers));
  const table = renderTable(heads, rows, paint);
  return ['', `${direction} of ${text}: ${painted(verdict, paint)}, ${because}`, ...table.map((line) => `  ${line}`)];
}

/** Without policies of the whole cluster, the columns about tiers would say the same in each row. */
function ruleCells(
  { tier, policy, rule, name, action, isPeer, isPort, ports, decides }: RuleAnswer,
  isAnyPort: boolean,
  hasTiers: boolean,
): readonly Cell[] {
  const ofTiers = (cell: Cell): Cell => (hasTiers ? cell : '');
  if (rule === '') return [ofTiers(tier), policy, 'no rules'];
  const yes = (is: boolean): Cell => toned(is ? 'yes' : 'no', is ? 'good' : 'bad');
  const port = isAnyPort && !isPort ? toned('some', 'doubtful') : yes(isPort);
  const what = isAnyPort ? decides.join(', ') : 'yes';
  const decision = decides.length === 0 ? '' : what;
  return [ofTiers(tier), policy, rule, name, ofTiers(action), yes(isPeer), port, ports, ofTiers(decision)];
}
