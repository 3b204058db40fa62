/** Renders routes and the answers about them as text. Pure. */
import type { RouteList, ListedRoute } from '../plan/routes.ts';
import type { Decision } from '../plan/policy.ts';
import type { Why } from '../plan/why.ts';
import type { Paint, Tone } from './paint.ts';
import { pathHeads, pathRow } from './status.ts';
import { renderSection, renderTable, toned, type Cell } from './table.ts';
import { plural } from '../model/units.ts';

const stateTones: Readonly<Record<ListedRoute['state'], Tone>> = {
  Active: 'good',
  Backup: 'doubtful',
  Rejected: 'bad',
};

export function renderRoutes({ routes, unlisted }: RouteList, paint: Paint): string {
  const rows = routes.map((route): readonly Cell[] => [
    route.prefix,
    route.cluster,
    route.nextHop,
    route.transitSwitch,
    toned(route.state, stateTones[route.state]),
    route.origin,
    (route.tags ?? []).join(','),
    route.reason,
    route.message,
  ]);
  const heads = ['PREFIX', 'CLUSTER', 'NEXT HOP', 'SWITCH', 'STATE', 'ORIGIN', 'TAGS', 'REASON', 'MESSAGE'];
  const table = rows.length === 0 ? ['no other cluster offers a route'] : renderTable(heads, rows, paint);
  const rest = unlisted === 0 ? [] : [`and ${plural(unlisted, 'prefix')} that the objects count but do not list`];
  return `${[...table, ...rest].join('\n')}\n`;
}

const answerTones: Readonly<Record<Why['answer'], Tone>> = {
  Local: 'good',
  Edge: 'good',
  Reached: 'good',
  Refused: 'bad',
  NotReached: 'bad',
  NotOffered: 'bad',
};

export function renderWhy(why: Why, nowMs: number, paint: Paint): string {
  const routes = why.candidates.map(({ route, isUsed, why: reason, policy }): readonly Cell[] => [
    isUsed ? toned('*', 'good') : '',
    route.prefix,
    route.cluster,
    route.nextHop,
    toned(route.state, stateTones[route.state]),
    decisionText(policy),
    reason,
  ]);
  const lines = [
    paint(why.sentence, answerTones[why.answer]),
    ...renderSection(
      'Subnets of this cluster there',
      renderTable(
        ['SUBNET', 'VPC', 'CIDR'],
        why.local.map(({ subnet, vpc, cidr }) => [subnet, vpc, cidr]),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Routes',
      renderTable(['USED', 'PREFIX', 'CLUSTER', 'NEXT HOP', 'STATE', 'POLICY', 'WHY'], routes, paint),
      paint,
    ),
    ...renderSection(
      'This cluster has it, and offers it to',
      renderTable(
        ['PREFIX', 'CLUSTER', 'SWITCH', 'ANSWER', 'POLICY', 'WHY'],
        why.offeredTo.map(({ prefix, cluster, transitSwitch, answer, policy, why: reason }) => [
          prefix,
          cluster,
          transitSwitch,
          toned(answer, answer === 'Offered' ? 'good' : 'doubtful'),
          decisionText(policy),
          reason,
        ]),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Paths',
      renderTable(
        pathHeads,
        why.paths.map((path) => pathRow(path.cluster, path, nowMs)),
        paint,
      ),
      paint,
    ),
    ...renderSection('Access', why.access, paint),
    ...renderSection('What it needs', why.next, paint),
  ];
  return `${lines.join('\n')}\n`;
}

function decisionText(decision: Decision | undefined): string {
  if (decision === undefined) return '';
  const place = decision.rule === undefined ? 'defaultAction' : `rules[${decision.rule}]`;
  return `${decision.policy} ${place}: ${decision.action}`;
}
