/**
 * The obstacles to the announcement of a prefix from a node to a peer, in the order of the processing. Pure. Called by
 * why.
 */
import { unmetParts } from '../../../lib/api/label-selector.ts';
import { annotationAdvertisement, type Offer } from '../../../lib/bgp/offers/offer.ts';
import { announcers, type View } from '../../../lib/bgp/offers/view.ts';
import { isPeerSelecting, objectProblem } from '../../../lib/bgp/peers.ts';
import { isOfferedHere, type RouteTable } from '../../../lib/bgp/route-table.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { objectName } from './object-names.ts';
import type { Question } from './question.ts';
import { sessionOf, type Speaker } from './speakers.ts';
import { familyProblem, sentRouteOf } from './sent-route.ts';

/** A node and one of its peers. */
export interface Place {
  readonly speaker: Speaker;
  /** View of the speaker's node; the table is of the same node. */
  readonly view: View;
  readonly table: RouteTable;
  /** Name of the peer; empty if the node has none. */
  readonly peer: string;
}

export function obstaclesOf(question: Question, place: Place): readonly Problem[] {
  return distinct([
    ...offerProblems(question),
    ...nodeProblems(place.speaker),
    ...placeProblems(question, place),
    ...peerProblems(question, place),
  ]);
}

/** No object has the prefix, or no object may offer it. */
function offerProblems({ prefix, subjects, holders, answers }: Question): readonly Problem[] {
  if (holders.some((each) => answers.has(each))) return [];
  if (subjects.length === 0)
    return [{ code: 'NoObject', message: `no object in this cluster has ${prefix}, so nothing announces it` }];
  const refusals = subjects.flatMap((each) => each.refusals);
  if (refusals.length > 0) return refusals.map(({ code, message }) => ({ code, message }));
  const without = subjects.filter(({ own }) => own === undefined).map(({ ref }) => objectName(ref));
  if (without.length > 0)
    return [{ code: 'NoAddress', message: `${without.join(', ')} has no address that could be announced` }];
  const misses = subjects.flatMap((each) => each.misses);
  if (misses.length > 0) return misses.map(({ code, message }) => ({ code, message }));
  const names = [...new Set(subjects.map(({ ref }) => objectName(ref)))].join(', ');
  return [{ code: 'NoAdvertisement', message: `no BgpAdvertisement has the source of ${names}; create one` }];
}

function nodeProblems({ node, problem, drain }: Speaker): readonly Problem[] {
  if (problem) return [problem];
  if (drain !== 'Drained') return [];
  return [{ code: 'Drained', message: `node ${node} is drained and announces nothing; undrain it` }];
}

/** The prefix is offered, but not from this node. */
function placeProblems({ answers, holders }: Question, { view, table }: Place): readonly Problem[] {
  const offers = holders
    .filter((each) => answers.has(each))
    .flatMap((each) => table.contributions(each).map(({ offer }) => offer));
  if (offers.some((offer) => isOfferedHere(view, offer))) return [];
  const alike = Map.groupBy(offers, ({ advertisement, prefix }) => `${advertisement} ${prefix}`);
  return [...alike.values()].flatMap((each) => placeProblem(view, each));
}

function placeProblem(view: View, offers: readonly Offer[]): readonly Problem[] {
  const [{ advertisement, prefix } = { advertisement: '', prefix: '' }] = offers;
  const { node } = view.state;
  const spec = view.byName.get(advertisement)?.spec;
  if (!announcers(view, advertisement).has(node)) {
    // For a node without an instance, that obstacle is reported already.
    if (advertisement === annotationAdvertisement || !view.speakers.has(node)) return [];
    const parts = unmetParts(spec?.nodeSelector ?? {}, view.state.nodes.get(node)?.labels ?? {}).join(', ');
    const message = `advertisement ${advertisement} selects nodes by ${parts}; ${node} is not selected`;
    return [{ code: 'NodeNotSelected', message }];
  }
  const nodes = [...new Set(offers.flatMap((each) => each.nodes ?? []))].toSorted().join(', ');
  const code = spec?.source === 'Service' ? 'NoEndpointHere' : 'OtherNode';
  return [{ code, message: `${advertisement} announces ${prefix} locally: from ${nodes} and not from ${node}` }];
}

function peerProblems(
  { prefix, answers, holders }: Question,
  { speaker, table, peer: name }: Place,
): readonly Problem[] {
  const peer = speaker.peers.get(name);
  if (!peer) return absence(speaker, name);
  const here = holders
    .filter((each) => answers.has(each))
    .flatMap((each) => {
      const routeClass = table.routes.get(each);
      return routeClass ? [{ prefix: each, routeClass }] : [];
    });
  const untold = here.flatMap((each) => {
    const route = sentRouteOf(peer, each.prefix, each.routeClass);
    return route.isSent ? [] : [...route.problems, ...table.leftOut(each.prefix)];
  });
  const foreign = here.length === 0 && prefix !== undefined ? familyProblem(peer, prefix) : undefined;
  return [...untold, ...(foreign ? [foreign] : []), ...sessionProblems(speaker, name)];
}

/** The session is not established, or its state is not known. */
export function sessionProblems(speaker: Speaker, name: string): readonly Problem[] {
  const peer = speaker.peers.get(name);
  const session = peer && sessionOf(speaker, peer);
  if (!session || session.isUp) return [];
  const why = session.message ?? session.reason ?? 'the speaker reports no reason';
  const message = `the session of ${speaker.node} with ${name} is ${session.state}: ${why}`;
  return [{ code: session.reason ?? 'SessionDown', message }];
}

/** The reasons why the node has no session with the peer. */
function absence({ node, state, instance, refused }: Speaker, name: string): readonly Problem[] {
  const peer = state.peers.get(name);
  if (!peer) return instance ? [{ code: 'NoPeer', message: `no BgpPeer selects node ${node}` }] : [];
  const problem = objectProblem(state, peer) ?? refused.get(name);
  if (problem) return [{ code: problem.code, message: `${name} is refused: ${problem.message}` }];
  if (!instance || 'problem' in peer.spec || isPeerSelecting(peer, state.nodes.get(node), instance.name)) return [];
  const { instance: wanted, nodeSelector } = peer.spec.value;
  if (wanted !== instance.name)
    return [
      { code: 'OtherInstance', message: `${name} is for BgpInstance ${wanted}; node ${node} has ${instance.name}` },
    ];
  const parts = unmetParts(nodeSelector, state.nodes.get(node)?.labels ?? {}).join(', ');
  return [{ code: 'PeerNotOnNode', message: `${name} selects nodes by ${parts}; ${node} is not selected` }];
}

function distinct(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((each) => [`${each.code} ${each.message}`, each])).values()];
}
