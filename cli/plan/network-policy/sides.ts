/** What the policies of one direction allow a workload. In: the judgement of `lib/policies`. Out: sets of ports by peer. Pure. */
import { judge, type PolicyConnection, type PolicyEnd, type PolicyPod } from '../../../lib/policies/judge.ts';
import { noNumbers } from '../../../lib/policies/numbers.ts';
import type { PolicyRules } from '../../../lib/policies/policy.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import { type OuterPeer, outerPeersOf } from './outer-peers.ts';
import { portsOfRule, unionOf, type PortSet } from './ports.ts';

export interface PeerPorts {
  readonly peer: OuterPeer;
  readonly ports: PortSet;
}

export interface Side {
  readonly direction: PolicyDirection;
  /** Those that isolate the workload; it is open without any. */
  readonly policies: ReadonlyMap<string, PolicyRules>;
  /** What everything outside may exchange with it. */
  readonly anywhere: PortSet;
  readonly peers: readonly PeerPorts[];
}

/** An end that no selector and no block names. */
const stranger: PolicyEnd = { pod: undefined, address: '' };

export function sideOf(pod: PolicyPod, direction: PolicyDirection, policies: ReadonlyMap<string, PolicyRules>): Side {
  const self = { pod, address: '' };
  const [from, to] = direction === 'ingress' ? [stranger, self] : [self, stranger];
  const judged = judge(policies, direction, { from, to, port: undefined }, noNumbers);
  const isolating = new Map([...policies].filter(([name]) => judged.some((one) => one.name === name)));
  const anywhere: PortSet[] = [];
  const peers = new Map<string, { readonly peer: OuterPeer; readonly ports: PortSet[] }>();
  // An address of a block is not known as a pod, so that its ports have no names.
  const namedOf = (isBlock: boolean) => (direction === 'ingress' ? pod.namedPorts : isBlock ? [] : undefined);
  for (const { namespace, [direction]: rules = [] } of isolating.values())
    for (const rule of rules) {
      if (rule.peers === undefined) anywhere.push(portsOfRule(rule.ports, namedOf(false)));
      for (const peer of outerPeersOf(namespace, rule)) {
        const known = peers.get(peer.id) ?? { peer, ports: [] };
        known.ports.push(portsOfRule(rule.ports, namedOf(peer.kind === 'addresses')));
        peers.set(peer.id, known);
      }
    }
  return {
    direction,
    policies: isolating,
    anywhere: isolating.size === 0 ? 'all' : unionOf(anywhere),
    peers: [...peers.values()].map(({ peer, ports }) => ({ peer, ports: unionOf(ports) })),
  };
}

/** The ports of a connection between two pods that this side allows. */
export function allowedBy({ direction, policies }: Side, connection: Omit<PolicyConnection, 'port'>): PortSet {
  if (policies.size === 0) return 'all';
  const rules = judge(policies, direction, { ...connection, port: undefined }, noNumbers).flatMap((one) => one.rules);
  return unionOf(rules.filter(({ isPeer }) => isPeer).map(({ ports, namedPorts }) => portsOfRule(ports, namedPorts)));
}
