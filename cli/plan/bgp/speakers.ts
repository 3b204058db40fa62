/**
 * Nodes that speak BGP: the peers that each should have according to the objects, and the state that its speaker reports. Pure. Called by all of
 * plan/bgp.
 */
import type { BgpNodeStateStatus } from '../../../lib/api/kinds/bgp-node-state.ts';
import { announcingIn, type DrainPhase, isDrained } from '../../../lib/bgp/drain.ts';
import { chooseInstance, instancesByNode, type WantedInstance } from '../../../lib/bgp/instance.ts';
import { splitLinkLocal } from '../../../lib/bgp/neighbor.ts';
import type { BgpState, LinkNeighbor } from '../../../lib/bgp/objects.ts';
import { type AcceptedPeer, objectProblem, planPeers } from '../../../lib/bgp/peers.ts';
import { silenceOf } from '../../../lib/bgp/silence.ts';
import type { Announcing } from '../../../lib/bgp/route-table.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { BgpReading } from '../../model/bgp.ts';

export interface Speaker {
  readonly node: string;
  readonly state: BgpState;
  readonly instance: WantedInstance | undefined;
  /** The reason why the node has no instance. */
  readonly problem: Problem | undefined;
  readonly drain: DrainPhase;
  readonly announcing: Announcing | undefined;
  /** Peers by name. */
  readonly peers: ReadonlyMap<string, AcceptedPeer>;
  /** Peers that select this node but cannot be used, with the reason, by name. */
  readonly refused: ReadonlyMap<string, Problem>;
  /** Undefined if no speaker has reported. */
  readonly reported: BgpNodeStateStatus | undefined;
}

export interface Session {
  readonly state: string;
  readonly isUp: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/** Nodes that have an instance, sorted. */
export function speakerNodes(state: BgpState): readonly string[] {
  return [...instancesByNode(state).keys()].toSorted();
}

export function speakerOf(reading: BgpReading, node: string): Speaker {
  const reported = reading.nodeStates.get(node);
  const state = { ...reading.state, node, neighbors: neighborsOf(reading.state, node, reported) };
  const { instance, problems } = chooseInstance(state);
  // The speaker moves a drain from phase to phase; before it has reported the phase, only the request is known.
  const drain = reported?.drain ?? (isDrained(state, instance) ? 'Drained' : 'None');
  const { peers, problems: refused } = planPeers(state, instance);
  const isOwnProblem = ([name]: readonly [string, Problem]) => {
    const peer = state.peers.get(name);
    return peer !== undefined && objectProblem(state, peer) === undefined;
  };
  return {
    node,
    state,
    instance,
    problem: instance ? undefined : whyNoInstance(state, problems),
    drain,
    announcing: announcingIn(drain, instance),
    peers: new Map([...peers.values()].map((peer) => [peer.name, peer])),
    refused: new Map([...refused].filter(isOwnProblem)),
    reported,
  };
}

/** Only the speaker sees the node's links: it reports a neighbour through its session, and a missing neighbour in the BgpPeer. */
function neighborsOf(
  { peers }: BgpReading['state'],
  node: string,
  reported: BgpNodeStateStatus | undefined,
): ReadonlyMap<string, LinkNeighbor> {
  const neighbors = new Map<string, LinkNeighbor>();
  for (const { spec, status } of peers.values()) {
    const device = 'value' in spec ? spec.value.interface : undefined;
    if (device === undefined || neighbors.get(device)?.address !== undefined) continue;
    const address = reported?.peers?.find((each) => splitLinkLocal(each.address)?.device === device)?.address;
    const entry = status.nodes.find((each) => each.node === node && each.state === 'Refused');
    const code = entry?.reason ?? 'NotReported';
    const message =
      entry?.message ?? `the speaker of node ${node} has not reported the neighbours on ${device}; look at its pod`;
    neighbors.set(device, {
      address,
      ownAddress: undefined,
      problem: address === undefined ? { code, message } : undefined,
    });
  }
  return neighbors;
}

function whyNoInstance(state: BgpState, problems: ReadonlyMap<string, Problem>): Problem {
  const { node } = state;
  const chosen = instancesByNode(state).get(node);
  const known = chosen === undefined ? undefined : problems.get(chosen);
  if (known) return known;
  if (node !== '' && !state.nodes.has(node)) return { code: 'NoNode', message: `there is no node ${node}` };
  if (state.instances.size === 0) return { code: 'NoInstance', message: 'there is no BgpInstance; create one' };
  const names = [...state.instances.keys()].toSorted().join(', ');
  return {
    code: 'NoInstance',
    message: `no BgpInstance (${names}) selects ${node === '' ? 'any node' : `node ${node}`}; label the node as the nodeSelector of one says`,
  };
}

/** The speaker's report about its session with a peer. */
export function sessionOf({ node, state, reported }: Speaker, { name, address }: AcceptedPeer): Session {
  const silence = silenceOf(state, node);
  if (silence) return unknown(silence.code, silence.message);
  if (reported === undefined)
    return unknown('NoSpeaker', `no speaker has reported from node ${node}; look at its speaker pod`);
  const found = reported.peers?.find((each) => each.peer === name && each.address === address);
  if (found === undefined)
    return unknown(
      'NotReported',
      `the speaker of node ${node} has not yet reported a session with ${name} (${address})`,
    );
  const { reason, message } = found;
  const details = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
  return { state: found.state, isUp: found.state === 'Established', ...details };
}

function unknown(reason: string, message: string): Session {
  return { state: 'Unknown', isUp: false, reason, message };
}
