/** What a rule of a policy says, in the terms of the matches of ACLs (`rule-acls.ts`). */
import type { Family } from '../../../lib/net/ip.ts';
import type { PolicyPort, PolicyProtocol, PolicyRule } from '../../../lib/policies/policy.ts';
import { namedPortGroup, selectionGroup } from '../../../lib/policies/group-names.ts';
import { namedPortKey, peerId, podPeers, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import { blockNetworks } from '../../../lib/policies/block.ts';
import { blockSet, domainSet, peerSet } from './names.ts';

export interface RuleContext {
  readonly view: Pick<View, 'policies'>;
  /** The key of the policy. */
  readonly name: string;
  /** The pods that it selects, as `selectionOf` names them. */
  readonly selection: string;
  /** Undefined for a policy of the whole cluster. */
  readonly namespace: string | undefined;
  readonly direction: PolicyDirection;
  readonly vpc: string;
  /** Place of the rule in its list. */
  readonly index: number;
}

/** `ip4.src == {$a, $b}`. */
export function isOneOf(field: string, values: readonly string[]): string {
  return values.length === 1 ? `${field} == ${values.join('')}` : `${field} == {${values.join(', ')}}`;
}

/** Ports of one protocol by number: the protocol alone if all of its ports are among them; undefined if none is. */
function portsTerm(protocol: PolicyProtocol, ports: readonly PolicyPort[]): string | undefined {
  if (ports.some(({ port }) => port === undefined)) return protocol;
  const numbers = new Set<number>();
  const ranges: string[] = [];
  for (const { port, endPort } of ports) {
    if (typeof port !== 'number') continue;
    if (endPort === undefined || endPort === port) numbers.add(port);
    else if (endPort > port) ranges.push(`${port} <= ${protocol}.dst <= ${endPort}`);
  }
  const listed = [...numbers].sort((a, b) => a - b).map(String);
  const terms = [...(listed.length === 0 ? [] : [isOneOf(`${protocol}.dst`, listed)]), ...ranges];
  if (terms.length === 0) return undefined;
  return terms.length === 1 ? terms[0] : `(${terms.join(' || ')})`;
}

/** Address sets, by family. */
type SetsOfFamilies = Readonly<Record<Family, readonly string[]>>;

/** The other end of packets; undefined for every address. */
export type OtherEnd =
  | {
      readonly sets: SetsOfFamilies;
      /** Those for packets of connections that exist. */
      readonly kept: SetsOfFamilies;
    }
  | undefined;

/** Sets for the other end; with a named port only pods that give it this number. */
function otherEnd(
  context: RuleContext,
  { peers }: PolicyRule,
  named?: { readonly key: string; readonly number: number },
): OtherEnd {
  const { namespace = '', direction, name, vpc, index } = context;
  const isOfPeer = named !== undefined && direction === 'egress';
  if (peers === undefined && !isOfPeer) return undefined;
  const ids = podPeers({ peers, ports: undefined }).map((peer) => peerId(namespace, peer));
  // Named ports are those of pods. Rules of ingress have no names.
  const domains = isOfPeer ? [] : (peers?.domains ?? []);
  const ofFamily = (family: Family): readonly string[] => {
    const sets = ids.map((id) => peerSet(id, vpc, family, isOfPeer ? named : undefined));
    // No pod is known by an address of a block, so that its named ports are unknown.
    const hasBlock = !isOfPeer && blockNetworks(peers?.blocks, family).length > 0;
    const blocks = hasBlock ? [blockSet(name, direction, index, family)] : [];
    return [...sets, ...blocks, ...domains.map((domain) => domainSet(domain, 'new', family))];
  };
  const keptOf = (family: Family) => domains.map((domain) => domainSet(domain, 'kept', family));
  return { sets: { 4: ofFamily(4), 6: ofFamily(6) }, kept: { 4: keptOf(4), 6: keptOf(6) } };
}

function protocolsOf(ports: readonly PolicyPort[]): readonly PolicyProtocol[] {
  return [...new Set(ports.map(({ protocol }) => protocol))];
}

/** What a rule says about ports of one protocol. */
export interface RulePart {
  /** The port group of the pods whose packets it judges. */
  readonly group: string;
  /** A term of a match; undefined for all ports. */
  readonly ports: string | undefined;
  readonly otherEnd: OtherEnd;
}

/** The parts of a rule; none for a rule that nothing satisfies. */
export function ruleParts(context: RuleContext, rule: PolicyRule): readonly RulePart[] {
  const { view, selection, namespace, direction, vpc } = context;
  const own = selectionGroup(selection, direction, vpc);
  const { ports } = rule;
  if (ports === undefined) return [{ group: own, ports, otherEnd: otherEnd(context, rule) }];
  const parts: RulePart[] = [];
  for (const protocol of protocolsOf(ports)) {
    const ofProtocol = ports.filter((port) => port.protocol === protocol);
    const term = portsTerm(protocol, ofProtocol);
    if (term !== undefined) parts.push({ group: own, ports: term, otherEnd: otherEnd(context, rule) });
    for (const { port } of ofProtocol) {
      if (typeof port !== 'string') continue;
      const key = namedPortKey(direction === 'ingress' ? namespace : undefined, protocol, port);
      for (const number of view.policies.numbers(key)) {
        const group = direction === 'ingress' ? namedPortGroup(selection, vpc, key, number) : own;
        const named = { key, number };
        parts.push({ group, ports: `${protocol}.dst == ${number}`, otherEnd: otherEnd(context, rule, named) });
      }
    }
  }
  return parts;
}
