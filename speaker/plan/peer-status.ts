import type { Problem } from '../../lib/desired/problem.ts';
import type { BgpPeer, NodeSession, SpeakerState } from '../state/objects.ts';
import type { Observed } from '../state/observed.ts';
import { isPeerSelecting, objectProblem } from './peers.ts';
import type { SpeakerPlan } from './plan.ts';
import { type PlannedCondition, withOwn } from './planned.ts';

/** This node's session with a peer, without its time; undefined where the node does not have it. */
export function peerEntry(
  state: SpeakerState,
  plan: SpeakerPlan,
  observed: Observed,
  peer: BgpPeer,
): NodeSession | undefined {
  const isOurs = isPeerSelecting(peer, state.nodes.get(state.node), plan.instance?.name);
  if (!isOurs || objectProblem(state, peer) || 'problem' in peer.spec) return undefined;
  const problem = plan.problems.peers.get(peer.name);
  const next = problem ? stateOf('Refused', problem) : sessionOf(observed, peer.spec.value.address);
  const before = peer.status.nodes.find((entry) => entry.node === state.node);
  // A peer newer than the plan: the session of that address may be another's.
  if (!problem && plan.peers.get(peer.spec.value.address)?.name !== peer.name) return before;
  return { node: state.node, ...next, ...(before && isSettling(before, next) && { state: before.state }) };
}

/** The n of m, and conditions, from the entries of all nodes. @param holders the instance of each node */
export function peerSummary(
  state: SpeakerState,
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
  const kept = entries.filter((entry) => selected.has(entry.node));
  const established = `${kept.filter((entry) => entry.state === 'Established').length}/${selected.size}`;
  return {
    leftOver: entries.filter((entry) => !selected.has(entry.node)).map((entry) => entry.node),
    summary: { established },
    conditions: [acceptedCondition(problem, kept), establishedCondition(problem, kept, selected.size, established)],
  };
}

function sessionOf(observed: Observed, address: string): Omit<NodeSession, 'node' | 'since'> {
  const refused = observed.refused.get(address);
  const session = observed.sessions.get(address);
  if (!observed.daemon.isReachable) return stateOf('Unreachable', observed.daemon.problem);
  if (refused) return stateOf('Idle', refused);
  if (!session) return stateOf('Idle', observed.daemon.problem);
  if (session.state === 'Established') {
    return { state: session.state, ...(session.advertised !== undefined && { advertised: session.advertised }) };
  }
  return {
    state: session.state,
    ...(session.reason !== undefined && { reason: session.reason }),
    ...(session.message !== undefined && { message: session.message }),
  };
}

function stateOf(state: string, problem: Problem | undefined): Omit<NodeSession, 'node' | 'since'> {
  return { state, ...(problem && { reason: problem.code, message: problem.message }) };
}

const connecting: readonly string[] = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm'];

/** A peer that does not answer goes round through these states every few seconds; writing each turn would tell nobody anything. */
function isSettling(before: NodeSession, next: Omit<NodeSession, 'node' | 'since'>): boolean {
  return connecting.includes(before.state) && connecting.includes(next.state);
}

function acceptedCondition(problem: Problem | undefined, entries: readonly NodeSession[]): PlannedCondition {
  const refused = entries.find((entry) => entry.state === 'Refused');
  if (problem) return { type: 'Accepted', status: 'False', reason: problem.code, message: problem.message };
  if (refused)
    return { type: 'Accepted', status: 'False', reason: refused.reason ?? 'Refused', message: refused.message ?? '' };
  return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the peer is used on all nodes it selects' };
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
