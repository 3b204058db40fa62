/** Renders announced and learned prefixes as text. Pure. */
import type { AnnouncedRoute, LearnedRow, RefusedRow } from '../../plan/bgp/routes.ts';
import type { Paint } from '../paint.ts';
import { type Cell, renderSection, renderTable, toned } from '../table.ts';
import { attributesText } from './attributes.ts';
import { few } from './few.ts';

export function renderAnnounced(routes: readonly AnnouncedRoute[], paint: Paint): string {
  const rows = routes.map((route): readonly Cell[] => [
    route.prefix,
    few(route.nodes, 'nodes'),
    objectsText(route),
    few(route.advertisements, 'advertisements'),
    peersCell(route),
    attributesText(route.attributes),
  ]);
  const heads = ['PREFIX', 'NODES', 'OBJECTS', 'ADVERTISEMENTS', 'PEERS', 'ATTRIBUTES'];
  const lines = rows.length === 0 ? ['nothing is announced'] : renderTable(heads, rows, paint);
  return `${lines.join('\n')}\n`;
}

function objectsText({ objects, objectCount }: AnnouncedRoute): string {
  return objectCount > objects.length ? `${objectCount} objects` : few(objects, 'objects');
}

function peersCell({ peers, isUp }: AnnouncedRoute): Cell {
  if (peers.length === 0) return toned('none selects it', 'doubtful');
  return isUp ? few(peers, 'peers') : toned(`${few(peers, 'peers')} (session down)`, 'bad');
}

export function renderLearned(routes: readonly LearnedRow[], refused: readonly RefusedRow[], paint: Paint): string {
  const rows = routes.map((route): readonly Cell[] => [
    route.prefix,
    few(route.nodes, 'nodes'),
    route.peer,
    route.nextHop,
    route.asPath,
    route.preference,
    route.vpc,
    (route.tags ?? []).join(','),
  ]);
  const heads = ['PREFIX', 'NODES', 'PEER', 'NEXT HOP', 'AS PATH', 'PREFERENCE', 'VPC', 'TAGS'];
  const lines = rows.length === 0 ? ['no prefix of a router is in use'] : renderTable(heads, rows, paint);
  return `${[...lines, ...renderSection('Refused (OwnPrefix)', renderRefused(refused, paint), paint)].join('\n')}\n`;
}

/** Renders prefixes of routers that the node or the cluster uses. */
export function renderRefused(refused: readonly RefusedRow[], paint: Paint): readonly string[] {
  if (refused.length === 0) return [];
  const rows = refused.map(({ prefix, nodes, peer, holder }): readonly Cell[] => [
    prefix,
    few(nodes, 'nodes'),
    peer,
    holder,
  ]);
  return renderTable(['PREFIX', 'NODES', 'PEER', 'USED BY'], rows, paint);
}
