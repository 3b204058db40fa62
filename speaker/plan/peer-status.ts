import type { Problem } from '../../lib/desired/problem.ts';
import type { BgpPeer, BgpState, NodeSession } from '../../lib/bgp/objects.ts';
import { exportOf } from '../../lib/bgp/exports.ts';
import { silenceOf } from '../../lib/bgp/silence.ts';
import type { Clues, Notification, Observed, RefusedSignatures } from '../model/observed.ts';
import { isPasswordProblem } from './passwords.ts';
import { neighborOf } from '../../lib/bgp/neighbor.ts';
import { isPeerSelecting, objectProblem } from '../../lib/bgp/peers.ts';
import type { SpeakerPlan, WantedPeer } from './plan.ts';
import { type PlannedCondition, withOwn } from './planned.ts';

type Session = Omit<NodeSession, 'node' | 'since'>;

/** This node's session with a peer, without times; undefined if the node has no session with it. */
export function peerEntry(
  state: BgpState,
  plan: SpeakerPlan,
  observed: Observed,
  peer: BgpPeer,
  clues: Clues,
): NodeSession | undefined {
  const isOurs = isPeerSelecting(peer, state.nodes.get(state.node), plan.instance?.name);
  if (!isOurs || objectProblem(state, peer) || 'problem' in peer.spec) return undefined;
  const problem = plan.problems.peers.get(peer.name);
  const { address } = neighborOf(state, peer.spec.value);
  const wanted = address === undefined ? undefined : plan.peers.get(address);
  const next = problem || wanted === undefined ? stateOf('Refused', problem) : explained(plan, observed, wanted, clues);
  const before = peer.status.nodes.find((entry) => entry.node === state.node);
  // The peer is newer than the plan: the session at that address may belong to another peer.
  if (!problem && wanted?.name !== peer.name) return before;
  return { node: state.node, ...next, ...(before && isSettling(before, next) && { state: before.state }) };
}

/** The count `n/m` of established sessions and the conditions, from the entries of all nodes. @param holders the instance of each node */
export function peerSummary(
  state: BgpState,
  peer: BgpPeer,
  own: NodeSession | undefined,
  holders: ReadonlyMap<string, string>,
): {
  readonly leftOver: readonly string[];
  readonly summary: { readonly established: string };
  readonly conditions: readonly PlannedCondition[];
} {
  const problem = objectProblem(state, peer);
  const selected = new Set(
    problem
      ? []
      : [...state.nodes.values()]
          .filter((node) => isPeerSelecting(peer, node, holders.get(node.name)))
          .map((node) => node.name),
  );
  const entries = withOwn(peer.status.nodes, state.node, own);
  const kept = entries.filter((entry) => selected.has(entry.node)).map((entry) => believed(state, entry));
  const established = `${kept.filter((entry) => entry.state === 'Established').length}/${selected.size}`;
  return {
    leftOver: entries.filter((entry) => !selected.has(entry.node)).map((entry) => entry.node),
    summary: { established },
    conditions: [
      acceptedCondition(problem, kept),
      ...secretCondition(peer, kept),
      establishedCondition(problem, kept, selected.size, established),
    ],
  };
}

function believed(state: BgpState, entry: NodeSession): NodeSession {
  const silence = silenceOf(state, entry.node);
  return silence ? { node: entry.node, ...stateOf('Unknown', silence) } : entry;
}

/** Number of prefixes of each family that are announced to the peer. */
export function countAnnounced(
  { table }: SpeakerPlan,
  peer: WantedPeer,
): { readonly ipv4: number; readonly ipv6: number } {
  const announced = [...table.classes.values()].filter(({ routeClass }) => exportOf(peer, routeClass) !== undefined);
  const count = (family: 'ipv4' | 'ipv6') =>
    peer.families.includes(family) ? announced.reduce((sum, each) => sum + each[family], 0) : 0;
  return { ipv4: count('ipv4'), ipv6: count('ipv6') };
}

function sessionOf(plan: SpeakerPlan, observed: Observed, peer: WantedPeer): Session {
  const { address } = peer;
  const refused = observed.refused.get(address);
  const session = observed.sessions.get(address);
  if (!observed.daemon.isReachable) return stateOf('Unreachable', observed.daemon.problem);
  if (refused) return stateOf('Idle', refused);
  if (!session) return stateOf('Idle', observed.daemon.problem);
  if (session.state === 'Established') {
    const { ipv4, ipv6 } = countAnnounced(plan, peer);
    return { state: session.state, advertised: ipv4 + ipv6 };
  }
  if (session.isOverLimit) return stateOf(session.state, overLimit(peer));
  return {
    state: session.state,
    ...(session.reason !== undefined && { reason: session.reason }),
    ...(session.message !== undefined && { message: session.message }),
  };
}

function overLimit({ maximumPrefixes, askedLimit }: WantedPeer): Problem {
  const code = 'PrefixLimit';
  if (maximumPrefixes === undefined || askedLimit === undefined) {
    const message =
      'the neighbour sent more prefixes than allowed; the limit has been removed, and the session returns';
    return { code, message };
  }
  const { limit, restartSeconds } = maximumPrefixes;
  const isCut = askedLimit.limit > limit;
  const which = isCut
    ? `${limit}, the maximum for a neighbour whose prefixes are imported`
    : `the ${limit} of ${askedLimit.field}`;
  const why = isCut ? ` (${askedLimit.field}, ${askedLimit.limit}, is above it and not in force)` : '';
  const change = isCut ? 'the limit is lowered, or import is removed' : 'the limit is changed';
  const message = `the neighbour sent more prefixes than ${which}${why}; the session returns after ${restartSeconds} seconds, or immediately when ${change}`;
  return { code, message };
}

/** The session with the most specific known reason for its state. */
function explained(plan: SpeakerPlan, observed: Observed, peer: WantedPeer, clues: Clues): Session {
  const seen = sessionOf(plan, observed, peer);
  const notified = withNotification(plan, peer, seen, clues);
  const session = withSource(
    peer,
    withLink(peer, withPassword(plan, observed, peer, notified, isHeard(seen) ? noneRefused : clues.signatures)),
  );
  if (session.reason !== undefined || !connecting.includes(session.state)) return session;
  const { address, port, isPassive } = peer;
  const problem = observed.sessions.get(address)?.isLost
    ? {
        code: 'ConnectionLost',
        message:
          'the session ended without a NOTIFICATION: the neighbour restarted or failed, or the path to it failed',
      }
    : {
        code: 'NotConnected',
        message: isPassive
          ? `the neighbour has not opened a connection yet; it must be configured with this node as a neighbour`
          : `no BGP connection with ${address} port ${port} yet: check that the router runs and is configured with this node as a neighbour`,
      };
  return stateOf(session.state, problem);
}

/** Reasons in gobgpd's API for a refused OPEN; the log may have a more specific reason. */
const refusedOpen: readonly (string | undefined)[] = ['OpenRefused', 'OpenRefusedByNeighbor'];

/** Reasons that end a session but do not refuse an OPEN: an OPEN refused after them has another reason. */
const passing: readonly string[] = [
  'HoldTimerExpired',
  'BfdDown',
  'CeasePeerDeconfigured',
  'CeaseAdministrativeReset',
  'CeaseOtherConfigurationChange',
];

function isExplaining({ reason, isSent }: Notification, session: Session): boolean {
  // With this one gobgpd answers whatever comes in place of an OPEN, also the NOTIFICATION that refuses its own.
  if (session.reason === 'OpenRefusedByNeighbor' && isSent && reason === 'FiniteStateMachineError') return false;
  if (refusedOpen.includes(session.reason)) return !passing.includes(reason);
  return session.reason === undefined;
}

function withNotification(plan: SpeakerPlan, peer: WantedPeer, session: Session, { notifications }: Clues): Session {
  const last = notifications.get(peer.address);
  if (!last || !connecting.includes(session.state) || !isExplaining(last, session)) return session;
  const { reason, isSent } = last;
  const ours = peer.localAsn ?? plan.instance?.asn;
  const cause = isSent
    ? `the neighbour's AS is not ${peer.asn}, which spec.asn requires`
    : `the neighbour expects this node to have another AS than ${ours}`;
  const message = reason === 'BadPeerAs' ? `${last.message}; ${cause}` : last.message;
  return { ...session, reason, message };
}

const noneRefused: RefusedSignatures = { wrongMs: [], unexpectedMs: [], nowMs: 0 };

/** The neighbour's messages arrive, so refused signatures belong to other senders. */
function isHeard({ reason }: Pick<Session, 'reason'>): boolean {
  return refusedOpen.includes(reason) || reason === 'PrefixLimit';
}

/** Adds a password problem as the reason: gobgpd does not know about signatures that the kernel refused. */
function withPassword(
  plan: SpeakerPlan,
  observed: Observed,
  peer: WantedPeer,
  session: Session,
  { wrongMs, unexpectedMs, nowMs }: RefusedSignatures,
): Session {
  const { password } = peer;
  const isUp = session.state === 'Established';
  if (password !== undefined && 'problem' in password) {
    const { code: reason, message } = password.problem;
    return isUp
      ? { ...session, reason, message: `${message}; until then the session continues unchanged` }
      : stateOf('Refused', password.problem);
  }
  if (isUp || session.state === 'Unreachable') return session;
  const timesMs = password === undefined ? unexpectedMs : wrongMs;
  const atMs = timesMs.at(-1);
  if (!isSuspect(observed, peer, atMs)) return session;
  const alike = [...plan.peers.values()].filter((other) => (other.password === undefined) === (password === undefined));
  const others = alike.filter((other) => other !== peer && isSuspect(observed, other, atMs));
  const isOfStranger = timesMs.some((timeMs) => alike.every((each) => isHeardAt(observed, each, timeMs, nowMs)));
  if (others.length > 0 || isOfStranger) return unclearSignature(session, peer, others);
  return refusedSignature(
    session,
    password === undefined
      ? 'the neighbour has a password and this BgpPeer has none: give it a passwordSecretRef'
      : 'the two sides have different passwords, or the neighbour has none',
  );
}

const overTcp: readonly string[] = ['OpenSent', 'OpenConfirm', 'Established'];

/** Whether segments refused at that time may be from this neighbour: there was no TCP connection with it since. */
function isSuspect({ sessions }: Observed, { address }: WantedPeer, atMs: number | undefined): boolean {
  const session = sessions.get(address);
  if (atMs === undefined || session === undefined || overTcp.includes(session.state)) return false;
  return !isHeard(session) && (session.connectedAtMs === undefined || session.connectedAtMs < atMs);
}

/** Whether the session was alive at that time, so that segments refused then are from other senders. */
function isHeardAt({ sessions }: Observed, { address }: WantedPeer, timeMs: number, nowMs: number): boolean {
  const { heardMs, holdTimeSeconds = 0 } = sessions.get(address) ?? {};
  return heardMs !== undefined && heardMs.from <= timeMs && timeMs <= (heardMs.to ?? nowMs - holdTimeSeconds * 1000);
}

/** The kernel counts the refused segments of all connections together. A known reason of a loss is kept. */
function unclearSignature(session: Session, { address, port }: WantedPeer, others: readonly WantedPeer[]): Session {
  const names = others.map(({ name }) => name).toSorted();
  const whose = names.length === 0 ? 'a host that is not a BgpPeer' : names.join(', ');
  const unclear = `TCP MD5 signatures were refused on this node, for this session or for ${whose}: the kernel does not report which`;
  const known = session.message ?? `no BGP connection with ${address} port ${port}`;
  return { ...session, reason: session.reason ?? 'NotConnected', message: `${known}; ${unclear}` };
}

/** Adds a problem of the source address as the reason. */
function withSource({ sourceProblem }: WantedPeer, session: Session): Session {
  if (!sourceProblem || session.state === 'Unreachable' || session.state === 'Established') return session;
  return stateOf('Refused', sourceProblem);
}

/** Adds a problem of the link as the reason. */
function withLink({ neighborProblem: problem }: WantedPeer, session: Session): Session {
  if (!problem || session.state === 'Unreachable' || session.state === 'Refused') return session;
  if (session.state !== 'Established') return stateOf(session.state, problem);
  // An established session is better evidence of the neighbour than the kernel's neighbour table.
  if (problem.code !== 'SeveralNeighbors') return session;
  const message = `${problem.message}; the session continues until its present neighbour is gone`;
  return { ...session, reason: problem.code, message };
}

function refusedSignature({ state }: Session, cause: string): Session {
  const message = `TCP MD5 signatures were refused on this node: ${cause}`;
  return stateOf(state, { code: 'AuthenticationFailed', message });
}

function stateOf(state: string, problem: Problem | undefined): Session {
  return { state, ...(problem && { reason: problem.code, message: problem.message }) };
}

const connecting: readonly string[] = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm'];

/** An unresponsive peer cycles through these states every few seconds, so that their changes are not published. */
function isSettling(before: NodeSession, next: Session): boolean {
  return connecting.includes(before.state) && connecting.includes(next.state);
}

function acceptedCondition(problem: Problem | undefined, entries: readonly NodeSession[]): PlannedCondition {
  const refused = entries.find((entry) => entry.state === 'Refused');
  if (problem) return { type: 'Accepted', status: 'False', reason: problem.code, message: problem.message };
  if (refused)
    return { type: 'Accepted', status: 'False', reason: refused.reason ?? 'Refused', message: refused.message ?? '' };
  return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the peer is used on all nodes it selects' };
}

/** Only for a peer with a password. */
function secretCondition({ spec }: BgpPeer, entries: readonly NodeSession[]): readonly PlannedCondition[] {
  if ('problem' in spec || spec.value.passwordSecretRef === undefined) return [];
  const type = 'SecretResolved';
  const failing = entries.find(({ reason }) => isPasswordProblem(reason));
  if (failing?.reason === undefined)
    return [{ type, status: 'True', reason: 'Resolved', message: 'the password is known on all nodes' }];
  return [{ type, status: 'False', reason: failing.reason, message: `${failing.node}: ${failing.message ?? ''}` }];
}

function establishedCondition(
  problem: Problem | undefined,
  entries: readonly NodeSession[],
  selected: number,
  established: string,
): PlannedCondition {
  const type = 'Established';
  if (problem) return { type, status: 'False', reason: 'NotAccepted', message: 'the peer is not used' };
  if (selected === 0)
    return {
      type,
      status: 'False',
      reason: 'NoNode',
      message: 'no node of the instance has the labels of nodeSelector',
    };
  const failing = entries.find((entry) => entry.state !== 'Established');
  if (!failing && entries.length === selected)
    return { type, status: 'True', reason: 'Established', message: `${established} nodes` };
  const cause = failing ? `; ${failing.node}: ${failing.message ?? failing.reason ?? failing.state}` : '';
  return {
    type,
    status: 'False',
    reason: failing?.reason ?? 'NotEstablished',
    message: `${established} nodes${cause}`,
  };
}
