/** Renders the status as text: problems first, then gateways, networks, other clusters and the paths to them. Pure. */
import type { RemotePathStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Status } from '../plan/status.ts';
import { conditionOf, type Gateway, type RemoteCluster } from '../model/snapshot.ts';
import { renderCauses, renderUnreadable } from './causes.ts';
import type { Paint, Tone } from './paint.ts';
import { renderSection, renderTable, toned, type Cell } from './table.ts';
import { milliseconds, percent, since, span } from '../model/units.ts';

export function renderStatus(status: Status, nowMs: number, paint: Paint): string {
  const lines = [
    ...renderHead(status, nowMs, paint),
    ...renderCauses('Problems', status.problems, 'bad', paint),
    ...renderCauses('Probably caused by these', status.consequences, 'doubtful', paint),
    ...renderCauses('Warnings', status.warnings, 'doubtful', paint),
    ...renderUnreadable(status.unreadable, paint),
    ...renderSection(
      'Gateways',
      renderTable(
        ['NODE', 'CHASSIS', 'ADDRESS', 'PATHS', 'TUNNELS', 'DRAINED', 'READY'],
        status.gateways.map(gatewayRow),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Transit switches',
      renderTable(
        ['NAME', 'VPC', 'PATH', 'CIDR', 'ADDRESS', 'HOLDER', 'STATE'],
        status.transitSwitches.flatMap(switchRows),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Other clusters',
      renderTable(
        ['NAME', 'PHASE', 'LAST SEEN', 'PATHS', 'ENCRYPTION', 'ROUTES', 'REJECTED'],
        status.remoteClusters.map((one) => remoteRow(one, nowMs)),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Paths',
      renderTable(
        pathHeads,
        status.remoteClusters.flatMap(({ name, status: { paths = [] } }) =>
          paths.map((path) => pathRow(name, path, nowMs)),
        ),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Members of the hub here',
      renderTable(
        ['NAME', 'CONNECTED', 'LAST SEEN', 'JOINED'],
        status.members.map(({ name, status: member }) => [
          name,
          readyCell(conditionOf(member.conditions, 'Connected')),
          member.lastSeen === undefined ? 'now' : since(member.lastSeen, nowMs),
          since(member.joined, nowMs),
        ]),
        paint,
      ),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function renderHead(status: Status, nowMs: number, paint: Paint): readonly string[] {
  const { cluster, hub, agent, certificateEndsMs, routes } = status;
  const facts = [
    ['hub', hub === '' ? 'none' : hub],
    ['agent', agent === undefined ? 'not seen' : `${agent.holder}, lease renewed ${span(nowMs - agent.renewedMs)} ago`],
    ['certificate', certificateEndsMs === undefined ? '' : `ends in ${span(certificateEndsMs - nowMs)}`],
    ['routes', `${routes.learned} learned, ${routes.advertised} advertised, ${routes.rejected} rejected`],
  ].filter(([, fact]) => fact !== '');
  const conditions = status.conditions.map(({ type, status: is }) =>
    paint(`${type}=${is}`, is === 'True' ? 'good' : 'bad'),
  );
  if (conditions.length > 0) facts.push(['conditions', conditions.join(' ')]);
  return [
    `${paint(cluster, 'strong')}: ${verdictOf(status, paint)}`,
    ...facts.map(([name = '', fact = '']) => `  ${paint(name.padEnd(11), 'faint')}  ${fact}`),
  ];
}

function verdictOf({ isWell, problems, unseen }: Status, paint: Paint): string {
  if (isWell) return paint('well', 'good');
  if (problems.length > 0) return paint('not well', 'bad');
  return paint(`not known: no permission to read ${unseen.join(', ')}`, 'doubtful');
}

function gatewayRow({ node, isDrained, status }: Gateway): readonly Cell[] {
  const tunnels = status.tunnels ?? [];
  const up = tunnels.filter(({ state }) => state === 'up').length;
  const isAllUp = up === tunnels.length;
  const tunnelCell = tunnels.length === 0 ? 'none' : toned(`${up}/${tunnels.length} up`, isAllUp ? 'good' : 'bad');
  return [
    node,
    status.chassis,
    status.address,
    (status.paths ?? []).join(','),
    tunnelCell,
    isDrained ? toned('drained', 'doubtful') : '',
    readyCell(conditionOf(status.conditions, 'Ready')),
  ];
}

function switchRows({ name, spec, status }: Status['transitSwitches'][number]): readonly (readonly Cell[])[] {
  const vpc = status.vpc ?? spec.vpc;
  const paths = status.paths ?? [];
  if (paths.length === 0)
    return [[name, vpc, '', status.cidr, '', '', readyCell(conditionOf(status.conditions, 'Ready'))]];
  return paths.map(({ path, cidr, localAddress, holder, state }) => [
    name,
    vpc,
    path,
    cidr,
    localAddress,
    (holder ?? '') === '' ? toned('none', 'bad') : holder,
    toned(
      state ?? '',
      state === 'Settled' ? 'good' : state === 'Unclaimed' || state === 'Unprotected' ? 'bad' : 'doubtful',
    ),
  ]);
}

function remoteRow({ name, status }: RemoteCluster, nowMs: number): readonly Cell[] {
  const { phase = '', lastSeen, pathsUp, routesActive, routesRejected = 0 } = status;
  return [
    name,
    toned(phase, phaseTone(phase)),
    lastSeen === undefined ? 'now' : `${since(lastSeen, nowMs)} ago`,
    pathsUp,
    encryptionCell(status),
    routesActive,
    routesRejected > 0 ? toned(String(routesRejected), 'bad') : routesRejected,
  ];
}

/** The mode, and why tunnels are not encrypted. */
function encryptionCell({ encryption: mode, conditions }: RemoteCluster['status']): Cell {
  if (mode === undefined) return '';
  if (mode === 'off') return toned(mode, 'faint');
  const condition = conditionOf(conditions, 'Encrypted');
  if (condition?.status === 'True') return toned(mode, 'good');
  return toned(`${mode}: ${condition?.reason ?? 'not known'}`, 'bad');
}

function phaseTone(phase: string): Tone {
  if (phase === 'Ready') return 'good';
  return phase === 'Unreachable' || phase === 'Conflicted' ? 'bad' : 'doubtful';
}

export const pathHeads = [
  'CLUSTER',
  'PATH',
  'HERE',
  'THERE',
  'STATE',
  'FOR',
  'BFD',
  'RTT',
  'LOSS',
  'MTU',
  'FLAPS',
  'REASON',
];

export function pathRow(cluster: string, path: RemotePathStatus, nowMs: number): readonly Cell[] {
  const tone: Tone = path.state === 'Up' ? 'good' : path.state === 'Down' ? 'bad' : 'doubtful';
  return [
    cluster,
    `${path.transitSwitch}/${path.path}`,
    path.localGateway,
    path.remoteGateway,
    toned(path.state, tone),
    since(path.since, nowMs),
    path.bfd,
    milliseconds(path.rttMs),
    percent(path.lossPercent),
    path.mtu,
    path.flaps,
    path.reason,
  ];
}

function readyCell(condition: Condition | undefined): Cell {
  if (condition === undefined) return '';
  return condition.status === 'True' ? toned('yes', 'good') : toned(condition.reason ?? 'no', 'bad');
}
