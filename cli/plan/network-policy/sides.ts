/**
 * What the policies of one direction do about a workload, NetworkPolicies and those of the whole cluster. In: the judgement of `lib/policies`. Out: sets of ports,
 * by peer. Rule: a peer outside of the namespace is judged by the rules that name it as a whole, in their order. Pure.
 */
import type { PolicyConnection, PolicyEnd, PolicyPod } from '../../../lib/policies/judge.ts';
import { type PolicyDirection } from '../../../lib/policies/selection.ts';
import {
  decide,
  decideAmong,
  decidedBy,
  judgeAll,
  type AllPolicies,
  type DecidedRule,
  type Judged,
  type Undecided,
} from './decide.ts';
import { namesPlace, outerPeersOf, type OuterPeer, type Place } from './outer-peers.ts';
import { isEmpty, namesIn, partialProtocols, portsOfRule, portsWithout, unionOf, type PortSet } from './ports.ts';

export interface PeerPorts {
  readonly peer: OuterPeer;
  /** All that the peer may do, if it is more than everything else may; else none. */
  readonly allowed: PortSet;
  /** What everything else may do, and the peer may not. */
  readonly denied: PortSet;
}

export interface Side {
  readonly direction: PolicyDirection;
  /** Whether any policy has a say. */
  readonly isSelected: boolean;
  /** Whether a NetworkPolicy selects the workload: what no rule allows is denied. */
  readonly isIsolated: boolean;
  /** What everything that no peer contains may exchange with it. */
  readonly anywhere: PortSet;
  readonly peers: readonly PeerPorts[];
  /** What of the rules is not in force, or cannot be drawn: `ClusterNetworkPolicy gate, spec.egress[0]: …`. */
  readonly flaws: readonly string[];
}

/** An end that no selector and no block names. */
const stranger: PolicyEnd = { pod: undefined, address: '' };

export function sideOf(pod: PolicyPod, direction: PolicyDirection, all: AllPolicies): Side {
  const self = { pod, address: '' };
  const [from, to] = direction === 'ingress' ? [stranger, self] : [self, stranger];
  const judged = judgeAll(all, direction, { from, to, port: undefined });
  const rules = [...judged.admin, ...judged.policies, ...judged.baseline];
  const peers = rules.flatMap(({ rule, nodes }) =>
    rule === undefined ? [] : outerPeersOf(pod.namespace, { peers: rule.peers, nodes }),
  );
  const open = exchanged(judged, pod, direction, 'anywhere');
  const byId = new Map(peers.map((peer) => [peer.id, peer]));
  const exchanges = [...byId.values()].map((peer) => ({ peer, ...exchanged(judged, pod, direction, peer) }));
  return {
    direction,
    isSelected: judged.isIsolated || rules.length > 0,
    isIsolated: judged.isIsolated,
    anywhere: open.allowed,
    peers: exchanges.map(({ peer, allowed, denied }) => ({ peer, ...beside(open.allowed, allowed, denied) })),
    flaws: [...new Set([...rules.flatMap(flawOf), ...exchanges.flatMap((one) => one.flaws)])],
  };
}

function flawOf({ policy, rule, flaw }: Undecided): readonly string[] {
  return rule === undefined || flaw === '' ? [] : [`${policy}, ${rule.field}: ${flaw}`];
}

interface Exchange {
  readonly allowed: PortSet;
  /** Names of ports that a rule denies, whose numbers the peer decides. */
  readonly denied: PortSet;
  readonly flaws: readonly string[];
}

function exchanged(judged: Judged, pod: PolicyPod, direction: PolicyDirection, place: Place): Exchange {
  // An address is not known as a pod, so that its ports have no names.
  const hasNames = place === 'anywhere' || place.kind === 'pods';
  const portsOf = ({ rule, nodes }: Undecided): PortSet => {
    if (rule === undefined || !namesPlace(pod.namespace, { peers: rule.peers, nodes }, place)) return [];
    if (direction === 'ingress') return portsOfRule(rule.ports, rule.namedPorts);
    return portsOfRule(rule.ports, hasNames && (place !== 'anywhere' || rule.peers === undefined) ? undefined : []);
  };
  const { allowed, rules } = decideAmong(judged, 'all', portsOf);
  return { allowed, denied: namesIn(unionOf(decidedBy(rules, 'Deny'))), flaws: doubtsOf(rules) };
}

/** Named ports whose number may be one that a rule before treats otherwise. */
function doubtsOf(rules: readonly DecidedRule[]): readonly string[] {
  return rules.flatMap(({ tier, policy, rule, action, decided }, index) => {
    if (rule === undefined) return [];
    const others = rules.slice(0, index).filter((one) => one.tier === tier && one.action !== action);
    const partial = partialProtocols(unionOf(others.map((one) => one.decided)));
    const doubtful = namesIn(decided).filter(({ protocol }) => partial.has(protocol));
    return doubtful.map(
      ({ name = '' }) =>
        `${policy}, ${rule.field}: the number of port ${name} is up to the peer, and rules before may decide about it`,
    );
  });
}

/** What a peer may exchange, compared with everything else. */
function beside(open: PortSet, allowed: PortSet, deniedNames: PortSet): Pick<PeerPorts, 'allowed' | 'denied'> {
  const denied = unionOf([portsWithout(open, allowed), deniedNames]);
  return { allowed: isEmpty(portsWithout(allowed, open)) ? [] : allowed, denied };
}

/** The ports of a connection between two pods that this side allows. */
export function allowedBy(
  { direction, isSelected }: Side,
  all: AllPolicies,
  connection: Omit<PolicyConnection, 'port'>,
): PortSet {
  return isSelected ? decide(all, direction, { ...connection, port: undefined }).allowed : 'all';
}
