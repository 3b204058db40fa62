/** What nodes announce and what they learned as text. Pure. */
import type { AnnouncedRoute, LearnedRow } from '../../plan/bgp/routes.ts';
import type { Paint } from '../paint.ts';
import { type Cell, renderTable, toned } from '../table.ts';
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

export function renderLearned(routes: readonly LearnedRow[], paint: Paint): string {
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
  return `${lines.join('\n')}\n`;
}
