/**
 * Why routers are told of a prefix, an address or an object, or are not, for each node and each of its peers. In: one reading
 * and the question. Out: an answer for every session, by the functions that speakers announce by. Pure.
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

/** What the peer of one session has. */
export interface Answer {
  /** As asked; undefined for an object without one. */
  readonly prefix: string | undefined;
  readonly node: string;
  /** Empty where the node has none. */
  readonly peer: string;
  /** `Covered`: the peer has a wider prefix, which nobody asked for. */
  readonly state: 'Announced' | 'Covered' | 'NotAnnounced';
  /** The prefix that the peer has. */
  readonly as: string | undefined;
  /** That bring it, on this node. */
  readonly objects: readonly string[];
  readonly advertisements: readonly string[];
  readonly attributes: SentAttributes | undefined;
  /** What keeps it from being announced; all of it, in the order of the way from the object to the peer. */
  readonly obstacles: readonly Problem[];
}

/** What an object offers, and does not. */
export interface AboutObject {
  readonly object: string;
  readonly prefix: string | undefined;
  readonly offers: readonly {
    readonly prefix: string;
    readonly advertisement: string;
    /** Undefined: all that the advertisement selects. */
    readonly nodes: readonly string[] | undefined;
  }[];
  readonly refusals: readonly (Problem & { readonly advertisement: string })[];
  /** Advertisements that do not announce it, and by what they pass it over. */
  readonly misses: readonly (Problem & { readonly advertisement: string })[];
}

export interface Why {
  readonly target: string;
  readonly isAnnounced: boolean;
  readonly answers: readonly Answer[];
  readonly objects: readonly AboutObject[];
  /** Prefixes of routers around it or in it that are no routes here, because the node or the cluster lives on them. */
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

/** Nodes and their peers that are asked for; a node or a peer that is named is there also where it has no session. */
function placesOf(
  reading: BgpReading,
  { node, peer }: SessionFilter,
): readonly { readonly speaker: Speaker; readonly peers: readonly string[] }[] {
  const speaking = speakerNodes(reading.state);
  // Somebody has to say why nobody speaks.
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
  const told = toldOf(question, { speaker, view, table, peer });
  const asked = told.find(({ prefix }) => question.answers.has(prefix));
  const down = sessionProblems(speaker, peer);
  const best = asked ?? (down.length === 0 ? told[0] : undefined);
  const where = { prefix: question.prefix, node: speaker.node, peer };
  const obstacles = asked ? down : obstaclesOf(question, { speaker, view, table, peer });
  if (!best) return { ...where, ...nothing, obstacles };
  const { advertisements, attributes } = best.telling;
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

interface ToldPrefix {
  readonly prefix: string;
  readonly telling: Extract<SentRoute, { readonly isSent: true }>;
}

/** Prefixes of the question that the peer is told from this node, the narrowest first. */
function toldOf({ holders }: Question, { speaker, table, peer: name }: Place): readonly ToldPrefix[] {
  const peer = speaker.peers.get(name);
  return holders.flatMap((prefix) => {
    const routeClass = table.routes.get(prefix);
    const telling = peer && routeClass ? sentRouteOf(peer, prefix, routeClass) : undefined;
    return telling?.isSent ? [{ prefix, telling }] : [];
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
