/** Renders all members of a hub and all pairs of them. Pure. */
import type { Mesh, MeshMember, MeshPair, MeshSide, SideState } from '../../plan/mesh/mesh.ts';
import { plural, span } from '../../model/units.ts';
import type { Paint, Tone } from '../paint.ts';
import { renderSection, renderTable, toned, type Cell } from '../table.ts';

const tones: Readonly<Record<SideState, Tone>> = {
  up: 'good',
  degraded: 'doubtful',
  down: 'bad',
  unknown: 'doubtful',
  'no path': 'doubtful',
  'not reported': 'faint',
  'not listed': 'faint',
};

export function renderMesh(mesh: Mesh, nowMs: number, paint: Paint): string {
  const { hub, hubProblem, members, pairs, isWell } = mesh;
  const connected = members.filter(({ presence }) => presence === 'connected').length;
  const up = pairs.filter(({ state }) => state === 'up').length;
  const verdict = isWell ? paint('well', 'good') : paint('not well', 'bad');
  const problems = [
    ...(hubProblem === undefined ? [] : [hubProblem]),
    ...members.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`])),
  ];
  const lines = [
    `${paint(`hub in ${hub}`, 'strong')}: ${verdict}`,
    `  ${connected} of ${plural(members.length, 'member')} connected, ${up} of ${plural(pairs.length, 'pair')} up`,
    ...renderSection('Problems', problems, paint),
    ...renderSection(
      'Members',
      renderTable(
        ['NAME', 'STATE', 'FOR', 'VERSION', 'PREFIXES', 'EXPORTS', 'REJECTED', 'JOINED'],
        members.map((member) => memberRow(member, nowMs)),
        paint,
      ),
      paint,
    ),
    ...renderSection(
      'Pairs',
      renderTable(
        ['FIRST', 'SECOND', 'STATE', 'FIRST REPORTS', 'FOR', 'SECOND REPORTS', 'FOR', 'ENCRYPTION', 'REASON'],
        pairs.map((pair) => pairRow(pair, nowMs)),
        paint,
      ),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function memberRow(member: MeshMember, nowMs: number): readonly Cell[] {
  const { name, handle, presence, sinceMs, joinedMs, version, prefixes, exports, rejections } = member;
  return [
    name === handle ? name : `${name} (joined as ${handle})`,
    toned(presence, presence === 'connected' ? 'good' : presence === 'leaving' ? 'doubtful' : 'bad'),
    forOf(sinceMs, nowMs),
    version ?? toned('not reported', 'faint'),
    prefixes,
    exports,
    (rejections ?? 0) > 0 ? toned(String(rejections), 'bad') : rejections,
    forOf(joinedMs, nowMs),
  ];
}

function pairRow({ clusters, state, sides }: MeshPair, nowMs: number): readonly Cell[] {
  const [first, second] = sides;
  const reasons = [...new Set(sides.flatMap(({ reason }) => reason ?? []))];
  return [
    clusters[0],
    clusters[1],
    toned(state, tones[state]),
    ...sideCells(first, nowMs),
    ...sideCells(second, nowMs),
    encryptionCell(sides),
    reasons.join(', '),
  ];
}

/** What both say, once if it is the same. */
function encryptionCell(sides: readonly MeshSide[]): Cell {
  const said = [...new Set(sides.flatMap(({ encryption }) => encryption ?? []))];
  if (said.length === 0) return '';
  const isGood = said.every((one) => one === 'off' || one === 'encrypted');
  return toned(said.join(', '), isGood ? (said.includes('encrypted') ? 'good' : 'faint') : 'bad');
}

function sideCells(side: MeshSide | undefined, nowMs: number): readonly Cell[] {
  if (side === undefined) return [toned('no member', 'faint'), ''];
  const { up, paths, state, sinceMs, isOld } = side;
  const text = up === undefined || paths === undefined ? state : `${up}/${paths} up`;
  return [toned(isOld ? `${text}, last seen` : text, isOld ? 'faint' : tones[state]), forOf(sinceMs, nowMs)];
}

function forOf(sinceMs: number | undefined, nowMs: number): string {
  return sinceMs === undefined ? '' : span(nowMs - sinceMs);
}
