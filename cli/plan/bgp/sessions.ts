/** Sessions as rows: reported sessions, missing sessions, and peers that no node has. Pure. */
import { instancesByNode } from '../../../lib/bgp/instance.ts';
import type { BgpPeer } from '../../../lib/bgp/objects.ts';
import { type AcceptedPeer, isPeerSelecting, objectProblem } from '../../../lib/bgp/peers.ts';
import { silenceOf } from '../../../lib/bgp/silence.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { BgpReading, SessionFilter } from '../../model/bgp.ts';
import { sessionOf, type Speaker, speakerNodes, speakerOf } from './speakers.ts';

export interface SessionRow {
  /** Empty for a peer that no node has. */
  readonly node: string;
  readonly peer: string;
  readonly address: string;
  readonly asn: number | undefined;
  /** The BGP state, or `Refused`, `NoNode`, `Unknown`. */
  readonly state: string;
  readonly since: string | undefined;
  readonly flaps: number | undefined;
  /** Number of prefixes. */
  readonly sent: number | undefined;
  readonly received: number | undefined;
  readonly used: number | undefined;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

export interface SessionList {
  readonly sessions: readonly SessionRow[];
  /** Problems of whole nodes. */
  readonly problems: readonly (Problem & { readonly node: string })[];
  /** Whether all sessions are Established. */
  readonly isWell: boolean;
}

export function listSessions(reading: BgpReading, filter: SessionFilter): SessionList {
  const { node, peer } = filter;
  const known = new Set([...speakerNodes(reading.state), ...reading.nodeStates.keys()]);
  const nodes = [...known].filter((each) => node === undefined || each === node).toSorted();
  const speakers = nodes.map((each) => speakerOf(reading, each));
  const had = speakers.flatMap(ofSpeaker);
  const seen = new Set(had.map((each) => each.peer));
  const others = [...reading.state.peers.values()].filter(({ name }) => !seen.has(name));
  const orphans = node === undefined ? others.map((each) => orphan(reading, each)) : [];
  const sessions = [...had, ...orphans].filter((each) => peer === undefined || each.peer === peer);
  return {
    sessions,
    problems: speakers.flatMap(problemsOf),
    isWell: sessions.every(({ state }) => state === 'Established'),
  };
}

function ofSpeaker(speaker: Speaker): readonly SessionRow[] {
  const { node, reported, peers, refused, state } = speaker;
  const silence = silenceOf(state, node);
  const there = (reported?.peers ?? []).map((each): SessionRow => {
    const counts = each.families ?? [];
    const row = emptyRow(node, each.peer, each.address, each.asn);
    if (silence) return { ...row, state: 'Unknown', reason: silence.code, message: silence.message };
    return {
      ...row,
      state: each.state,
      since: each.since,
      flaps: each.flaps,
      sent: sum(counts.map(({ advertised }) => advertised)),
      received: sum(counts.map(({ received }) => received)),
      used: each.used,
      reason: each.reason,
      message: each.message,
    };
  });
  const awaited = [...peers.values()]
    .filter(({ name, address }) => !there.some((row) => row.peer === name && row.address === address))
    .map((peer) => ({ ...rowOf(node, peer), ...statement(speaker, peer) }));
  const denied = [...refused].map(([name, { code, message }]): SessionRow => {
    const spec = state.peers.get(name)?.spec;
    const { asn } = spec && 'value' in spec ? spec.value : {};
    return { ...emptyRow(node, name, placeOf(state.peers.get(name)), asn), state: 'Refused', reason: code, message };
  });
  return [...there, ...awaited, ...denied].toSorted((a, b) =>
    `${a.peer} ${a.address}` < `${b.peer} ${b.address}` ? -1 : 1,
  );
}

function statement(speaker: Speaker, peer: AcceptedPeer): Pick<SessionRow, 'state' | 'reason' | 'message'> {
  const { state, reason, message } = sessionOf(speaker, peer);
  return { state, reason, message };
}

/** A row for a peer that cannot be used, or that no node has. */
function orphan({ state }: BgpReading, peer: BgpPeer): SessionRow {
  const { asn, instance = '' } = 'value' in peer.spec ? peer.spec.value : {};
  const row = emptyRow('', peer.name, placeOf(peer), asn);
  const problem = objectProblem(state, peer);
  if (problem) return { ...row, state: 'Refused', reason: problem.code, message: problem.message };
  const holders = [...instancesByNode(state)].filter(([node, name]) =>
    isPeerSelecting(peer, state.nodes.get(node), name),
  );
  const message =
    holders.length === 0
      ? `no node of BgpInstance ${instance} has the labels of nodeSelector; label one or change the selector`
      : `its nodes (${holders.map(([node]) => node).join(', ')}) cannot use BgpInstance ${instance}`;
  return { ...row, state: 'NoNode', reason: 'NoNode', message };
}

function problemsOf({ node, problem, reported }: Speaker): readonly (Problem & { readonly node: string })[] {
  if (problem) return [{ node, ...problem }];
  if (reported?.ready !== false || reported.reason === undefined) return [];
  return [{ node, code: reported.reason, message: reported.message ?? '' }];
}

function rowOf(node: string, { name, address, asn }: AcceptedPeer): SessionRow {
  return emptyRow(node, name, address, asn);
}

/** The neighbour's address or link, from the object. */
function placeOf(peer: BgpPeer | undefined): string {
  const { address, interface: device } = peer && 'value' in peer.spec ? peer.spec.value : {};
  return address ?? (device === undefined ? '' : `on ${device}`);
}

function emptyRow(node: string, peer: string, address: string, asn: number | undefined): SessionRow {
  const unknown = { since: undefined, flaps: undefined, sent: undefined, received: undefined, used: undefined };
  return { node, peer, address, asn, state: '', ...unknown, reason: undefined, message: undefined };
}

/** Undefined if no count is known. */
function sum(counts: readonly (number | undefined)[]): number | undefined {
  const given = counts.filter((count) => count !== undefined);
  return given.length === 0 ? undefined : given.reduce((total, count) => total + count, 0);
}
