/**
 * Explains, for each node and each of its peers, why a prefix, an address or an object is announced or not. In: one reading and the query. Out: an
 * answer for every session, computed by the same functions that speakers use. Pure.
 */
import { viewOf, type View } from '../../../lib/bgp/offers/view.ts';
import { isOfferedHere, RouteTable } from '../../../lib/bgp/route-table.ts';
import type { SentAttributes } from '../../../lib/bgp/sent.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import type { BgpReading, SessionFilter } from '../../model/bgp.ts';
import { nameOfTable, objectName } from './object-names.ts';
import { obstaclesOf, type Place, sessionProblems } from './obstacles.ts';
import { type Question, questionsOf, type Target } from './question.ts';
import { listRefused, type RefusedRow } from './routes.ts';
import { type Speaker, speakerNodes, speakerOf } from './speakers.ts';
import { type SentRoute, sentRouteOf } from './sent-route.ts';

/** The answer for the peer of one session. */
export interface Answer {
  /** The requested prefix; undefined for an object without a prefix. */
  readonly prefix: string | undefined;
  readonly node: string;
  /** Name of the peer; empty if the node has none. */
  readonly peer: string;
  /** `Covered`: the peer has a wider prefix that was not asked for. */
  readonly state: 'Announced' | 'Covered' | 'NotAnnounced';
  /** The prefix that is announced to the peer. */
  readonly as: string | undefined;
  /** Objects on this node that cause the announcement. */
  readonly objects: readonly string[];
  readonly advertisements: readonly string[];
  readonly attributes: SentAttributes | undefined;
  /** All obstacles to the announcement, in the order of the processing from the object to the peer. */
  readonly obstacles: readonly Problem[];
}

/** What an object offers and what it does not. */
export interface AboutObject {
  readonly object: string;
  readonly prefix: string | undefined;
  readonly offers: readonly {
    readonly prefix: string;
    readonly advertisement: string;
    /** Undefined means all nodes that the advertisement selects. */
    readonly nodes: readonly string[] | undefined;
  }[];
  readonly refusals: readonly (Problem & { readonly advertisement: string })[];
  /** Advertisements that do not announce it, and the reason. */
  readonly misses: readonly (Problem & { readonly advertisement: string })[];
}

export interface Why {
  readonly target: string;
  readonly isAnnounced: boolean;
  readonly answers: readonly Answer[];
  readonly objects: readonly AboutObject[];
  /** Prefixes of routers that contain it or are in it, and are not used as routes because the node or the cluster uses them. */
  readonly refused: readonly RefusedRow[];
}

export function explain(reading: BgpReading, target: Target, filter: SessionFilter): Why {
  const table = new RouteTable();
  table.rebuild(reading.state, undefined);
  const view = viewOf(reading.state);
  const questions = questionsOf(view, table, target);
  const asked = questions.map((question) => ({ question, answers: [] as Answer[] }));
  for (const { speaker, peers } of placesOf(reading, filter)) {
    table.moveTo(speaker.node, speaker.announcing);
    const here: View = { ...view, state: speaker.state };
    for (const { question, answers } of asked)
      for (const peer of peers) answers.push(answerOf(question, { speaker, view: here, table, peer }));
  }
  const answers = asked.flatMap((each) => each.answers);
  return {
    target: target.name,
    isAnnounced: answers.some(({ state }) => state === 'Announced'),
    answers,
    objects: questions.flatMap(({ subjects }) => subjects).map(aboutOf),
    refused: refusedOf(reading, target, filter),
  };
}

function refusedOf(reading: BgpReading, { prefix }: Target, filter: SessionFilter): readonly RefusedRow[] {
  const cidr = prefix === undefined ? undefined : parseCidr(prefix);
  return cidr === undefined ? [] : listRefused(reading, { ...filter, prefix: cidr });
}

/** The requested nodes and their peers; a node or a peer that was named is included even without a session. */
function placesOf(
  reading: BgpReading,
  { node, peer }: SessionFilter,
): readonly { readonly speaker: Speaker; readonly peers: readonly string[] }[] {
  const speaking = speakerNodes(reading.state);
  // At least one answer must explain why no node speaks BGP.
  const nodes = node === undefined ? (speaking.length === 0 ? [''] : speaking) : [node];
  const all = nodes.map((name) => {
    const speaker = speakerOf(reading, name);
    return { speaker, peers: [...new Set([...speaker.peers.keys(), ...speaker.refused.keys()])].toSorted() };
  });
  if (peer === undefined) return all.map((each) => (each.peers.length === 0 ? { ...each, peers: [''] } : each));
  const having = all.filter(({ peers }) => peers.includes(peer));
  return (having.length === 0 ? all : having).map(({ speaker }) => ({ speaker, peers: [peer] }));
}

function answerOf(question: Question, { speaker, view, table, peer }: Place): Answer {
  const announced = announcedOf(question, { speaker, view, table, peer });
  const asked = announced.find(({ prefix }) => question.answers.has(prefix));
  const down = sessionProblems(speaker, peer);
  const best = asked ?? (down.length === 0 ? announced[0] : undefined);
  const where = { prefix: question.prefix, node: speaker.node, peer };
  const obstacles = asked ? down : obstaclesOf(question, { speaker, view, table, peer });
  if (!best) return { ...where, ...nothing, obstacles };
  const { advertisements, attributes } = best.route;
  const objects = table.contributions(best.prefix).filter(({ offer }) => isOfferedHere(view, offer));
  const names = [...new Set(objects.map(({ object }) => nameOfTable(object)))].toSorted();
  const state = down.length > 0 ? 'NotAnnounced' : asked ? 'Announced' : 'Covered';
  return { ...where, state, as: best.prefix, objects: names, advertisements, attributes, obstacles };
}

const nothing = {
  state: 'NotAnnounced',
  as: undefined,
  objects: [],
  advertisements: [],
  attributes: undefined,
} as const;

interface AnnouncedPrefix {
  readonly prefix: string;
  readonly route: Extract<SentRoute, { readonly isSent: true }>;
}

/** Prefixes of the query that this node announces to the peer, the narrowest first. */
function announcedOf({ holders }: Question, { speaker, table, peer: name }: Place): readonly AnnouncedPrefix[] {
  const peer = speaker.peers.get(name);
  return holders.flatMap((prefix) => {
    const routeClass = table.routes.get(prefix);
    const route = peer && routeClass ? sentRouteOf(peer, prefix, routeClass) : undefined;
    return route?.isSent ? [{ prefix, route }] : [];
  });
}

function aboutOf({ ref, own, contributions, refusals, misses }: Question['subjects'][number]): AboutObject {
  return {
    object: objectName(ref),
    prefix: own?.prefix,
    offers: contributions.map(({ offer: { prefix, advertisement, nodes } }) => ({ prefix, advertisement, nodes })),
    refusals,
    misses,
  };
}
