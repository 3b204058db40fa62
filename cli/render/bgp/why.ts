/**
 * Renders as text why something is announced or not: the answers, the obstacles, then the objects behind them. Pure.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { together } from '../../plan/bgp/together.ts';
import type { AboutObject, Answer, Why } from '../../plan/bgp/why.ts';
import type { Paint, Tone } from '../paint.ts';
import { type Cell, renderSection, renderTable, toned } from '../table.ts';
import { plural } from '../../model/units.ts';
import { attributesText } from './attributes.ts';
import { few } from './few.ts';
import { renderRefused } from './routes.ts';

/** Maximum number of lines; `-o json` prints all. */
const mostLines = 20;

const words = {
  Announced: ['announced', 'good'],
  Covered: ['covered', 'doubtful'],
  NotAnnounced: ['no', 'bad'],
} as const satisfies Record<Answer['state'], readonly [string, Tone]>;

export function renderWhy(why: Why, paint: Paint): string {
  const problems = new Map(why.answers.flatMap(({ obstacles }) => obstacles).map((each) => [each.message, each]));
  const lines = [
    verdict(why, paint),
    ...renderSection('Sessions', sessionTable(why.answers, paint), paint),
    ...renderSection('Obstacles', problemLines([...problems.values()], 'bad', paint), paint),
    ...renderSection('Objects', objectTable(why.objects, paint), paint),
    ...renderSection(
      'Not announced of them',
      problemLines(
        distinct(
          why.objects.flatMap(({ refusals }) => refusals),
          problems,
        ),
        'doubtful',
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Advertisements that do not select them',
      problemLines(
        distinct(
          why.objects.flatMap(({ misses }) => misses),
          problems,
        ),
        'faint',
        paint,
      ),
      paint,
    ),
    ...renderSection('Of routers, refused (OwnPrefix)', renderRefused(why.refused, paint), paint),
  ];
  return `${lines.join('\n')}\n`;
}

function verdict({ target, answers, isAnnounced }: Why, paint: Paint): string {
  const sessions = new Set(answers.filter(({ peer }) => peer !== '').map(sessionKey));
  const having = (state: Answer['state']) =>
    new Set(answers.filter((each) => each.state === state).map(sessionKey)).size;
  const of = plural(sessions.size, 'session');
  if (isAnnounced) return paint(`${target} is announced on ${having('Announced')} of ${of}`, 'good');
  const covered = having('Covered');
  const wider = [...new Set(answers.flatMap(({ state, as }) => (state === 'Covered' && as !== undefined ? [as] : [])))];
  if (covered === 0) return paint(`${target} is not announced`, 'bad');
  return paint(
    `${target} is not announced itself; ${few(wider, 'prefixes')}, which holds it, is on ${covered} of ${of}`,
    'doubtful',
  );
}

function sessionKey({ node, peer }: Answer): string {
  return `${node} ${peer}`;
}

function sessionTable(answers: readonly Answer[], paint: Paint): readonly string[] {
  const results = answers.map((answer) => ({ node: answer.node, peer: answer.peer, value: answer }));
  const rows = together(results, rowKey).map(({ nodes, peers, value }): readonly Cell[] => {
    const [word, tone] = words[value.state];
    return [
      value.prefix,
      few(nodes, 'nodes'),
      few(peers, 'peers'),
      toned(word, tone),
      value.as === value.prefix ? '' : value.as,
      few(value.objects, 'objects'),
      few(value.advertisements, 'advertisements'),
      attributesText(value.attributes),
      codesOf(value),
    ];
  });
  const heads = ['PREFIX', 'NODES', 'PEERS', 'ANNOUNCED', 'AS', 'BY', 'ADVERTISEMENTS', 'ATTRIBUTES', 'REASON'];
  return renderTable(heads, rows, paint);
}

function rowKey(answer: Answer): string {
  const { prefix, state, as, objects, advertisements, attributes } = answer;
  return JSON.stringify([prefix, state, as, objects, advertisements, attributes, codesOf(answer)]);
}

function codesOf({ obstacles }: Answer): string {
  return few([...new Set(obstacles.map(({ code }) => code))], 'reasons');
}

function objectTable(objects: readonly AboutObject[], paint: Paint): readonly string[] {
  const rows = objects.flatMap(({ object, prefix, offers }): readonly (readonly Cell[])[] =>
    offers.length === 0
      ? [[object, prefix, toned('no advertisement', 'doubtful')]]
      : offers.map((offer) => [
          object,
          prefix,
          offer.advertisement,
          offer.prefix === prefix ? '' : offer.prefix,
          offer.nodes && few(offer.nodes, 'nodes'),
        ]),
  );
  return renderTable(['OBJECT', 'PREFIX', 'OFFERED BY', 'AS', 'ONLY FROM'], rows, paint);
}

/** Distinct problems, without those printed above. */
function distinct(problems: readonly Problem[], printed: ReadonlyMap<string, Problem>): readonly Problem[] {
  return [...new Map(problems.map((each) => [each.message, each])).values()].filter(
    ({ message }) => !printed.has(message),
  );
}

function problemLines(problems: readonly Problem[], tone: Tone, paint: Paint): readonly string[] {
  const lines = problems.map(({ code, message }) => `${paint(code, tone)}: ${message}`);
  const left = lines.length - mostLines;
  return left > 0 ? [...lines.slice(0, mostLines), `and ${left} more; -o json has all`] : lines;
}
