/**
 * The prefixes that nodes announce, their peers and attributes, with one row for sessions with the same announcements;
 * and the learned prefixes. Pure.
 */
import type { BgpRoute } from '../../../lib/api/kinds/bgp-route-slice.ts';
import type { RouteClass } from '../../../lib/bgp/classes.ts';
import { viewOf, type View } from '../../../lib/bgp/offers/view.ts';
import { familyOfAddress } from '../../../lib/bgp/family.ts';
import { isOfferedHere, RouteTable } from '../../../lib/bgp/route-table.ts';
import type { SentAttributes } from '../../../lib/bgp/sent.ts';
import { byPrefix, type Cidr, cidrsOverlap, parseCidr } from '../../../lib/net/cidr.ts';
import type { BgpReading, SessionFilter } from '../../model/bgp.ts';
import { nameOfTable } from './object-names.ts';
import { sessionOf, type Speaker, speakerNodes, speakerOf } from './speakers.ts';
import { sentRouteOf } from './sent-route.ts';
import { together } from './together.ts';

export interface AnnouncedRoute {
  readonly prefix: string;
  readonly nodes: readonly string[];
  /** At most `shownObjects`, of `objectCount`. */
  readonly objects: readonly string[];
  readonly objectCount: number;
  readonly advertisements: readonly string[];
  /** Each of the nodes announces to each of these peers; empty if no peer selects the prefix. */
  readonly peers: readonly string[];
  /** Whether the sessions are established; before that, nothing was announced. */
  readonly isUp: boolean;
  readonly attributes: SentAttributes | undefined;
}

export interface RouteFilter extends SessionFilter {
  /** Limits the result to prefixes that contain this one or are in it. */
  readonly prefix: Cidr | undefined;
}

/** How a node announces a prefix to a peer. */
interface Announcement {
  readonly advertisements: readonly string[];
  readonly isUp: boolean;
  readonly attributes: SentAttributes | undefined;
}

interface Entry {
  readonly node: string;
  readonly peer: string | undefined;
  readonly value: Announcement;
}

const shownObjects = 10;

export function listAnnounced(reading: BgpReading, { node, peer, prefix }: RouteFilter): readonly AnnouncedRoute[] {
  const { state } = reading;
  const table = new RouteTable();
  table.rebuild(state, undefined);
  const view = viewOf(state);
  const entries = new Map<string, { sessions: Entry[]; objects: Set<string> }>();
  for (const name of speakerNodes(state)) {
    if (node !== undefined && node !== name) continue;
    const speaker = speakerOf(reading, name);
    table.moveTo(name, speaker.announcing);
    const here: View = { ...view, state: speaker.state };
    const entriesOf = entryFinder(speaker, peer);
    for (const [text, routeClass] of table.routes) {
      if (prefix !== undefined && !overlaps(prefix, text)) continue;
      const found = entriesOf(text, routeClass);
      if (found.length === 0) continue;
      const entry = entries.get(text) ?? { sessions: [], objects: new Set() };
      entry.sessions.push(...found);
      for (const { object, offer } of table.contributions(text))
        if (isOfferedHere(here, offer)) entry.objects.add(nameOfTable(object));
      entries.set(text, entry);
    }
  }
  const keys = new Map<Announcement, string>();
  const keyOf = (value: Announcement): string => {
    const known = keys.get(value) ?? JSON.stringify(value);
    keys.set(value, known);
    return known;
  };
  const rows = [...entries].flatMap(([text, { sessions, objects }]) => {
    const shown = { prefix: text, objects: [...objects].toSorted().slice(0, shownObjects), objectCount: objects.size };
    return together(sessions, keyOf).map(({ nodes, peers, value }): AnnouncedRoute => ({
      ...shown,
      nodes,
      peers,
      ...value,
    }));
  });
  return byPrefix(rows, (row) => row.prefix);
}

/** Returns a function that finds how a node announces a prefix to its peers; the result is computed once for each class and family. */
function entryFinder(
  speaker: Speaker,
  only: string | undefined,
): (prefix: string, routeClass: RouteClass) => readonly Entry[] {
  const { node } = speaker;
  const peers = [...speaker.peers.values()].filter(({ name }) => only === undefined || name === only);
  const known = new Map<string, readonly Entry[]>();
  return (prefix, routeClass) => {
    const key = `${routeClass.id} ${familyOfAddress(prefix)}`;
    const found = known.get(key);
    if (found) return found;
    const announced = peers.flatMap((peer): readonly Entry[] => {
      const route = sentRouteOf(peer, prefix, routeClass);
      if (!route.isSent) return [];
      const { advertisements, attributes } = route;
      return [{ node, peer: peer.name, value: { advertisements, isUp: sessionOf(speaker, peer).isUp, attributes } }];
    });
    const names = routeClass.advertisements.map(({ name }) => name);
    const toNoPeer: Entry = {
      node,
      peer: undefined,
      value: { advertisements: names, isUp: false, attributes: undefined },
    };
    const entries = announced.length === 0 && only === undefined ? [toNoPeer] : announced;
    known.set(key, entries);
    return entries;
  };
}

export interface LearnedRow extends BgpRoute {
  readonly nodes: readonly string[];
}

/** Prefixes of routers that are used as routes, as the speakers report them. */
export function listLearned({ learned }: BgpReading, { node, peer, prefix }: RouteFilter): readonly LearnedRow[] {
  const rows = new Map<string, BgpRoute & { nodes: string[] }>();
  for (const [name, routes] of learned) {
    if (node !== undefined && node !== name) continue;
    for (const route of routes) {
      if ((peer !== undefined && peer !== route.peer) || (prefix !== undefined && !overlaps(prefix, route.prefix)))
        continue;
      const key = JSON.stringify(route);
      const row = rows.get(key) ?? { ...route, nodes: [] };
      row.nodes.push(name);
      rows.set(key, row);
    }
  }
  return byPrefix([...rows.values()], (row) => row.prefix);
}

/** A prefix of a router that is not used as a route because the node or the cluster uses it. */
export interface RefusedRow {
  readonly prefix: string;
  /** The user of the prefix. */
  readonly holder: string;
  readonly peer: string;
  readonly nodes: readonly string[];
}

/** The first few refused prefixes of each session, as the speakers report them. */
export function listRefused({ nodeStates }: BgpReading, { node, peer, prefix }: RouteFilter): readonly RefusedRow[] {
  const rows = new Map<string, Omit<RefusedRow, 'nodes'> & { nodes: string[] }>();
  for (const [name, { peers = [] }] of nodeStates) {
    if (node !== undefined && node !== name) continue;
    for (const { peer: from, ownPrefixes = [] } of peers) {
      if (peer !== undefined && peer !== from) continue;
      for (const refused of ownPrefixes) {
        if (prefix !== undefined && !overlaps(prefix, refused.prefix)) continue;
        const key = JSON.stringify([refused, from]);
        const row = rows.get(key) ?? { ...refused, peer: from, nodes: [] };
        row.nodes.push(name);
        rows.set(key, row);
      }
    }
  }
  return byPrefix([...rows.values()], (row) => row.prefix);
}

function overlaps(wanted: Cidr, prefix: string): boolean {
  const cidr = parseCidr(prefix);
  return cidr !== undefined && cidrsOverlap(wanted, cidr);
}
