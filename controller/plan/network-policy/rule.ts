/** Turns a rule of a policy into the matches of its ACLs. Dimensions are conjunctions of `==`, so that OVN adds flows and does not multiply them. */
import type { PolicyPort, PolicyProtocol, PolicyRule } from '../../../lib/policies/policy.ts';
import { namedPortKey, peerId, podPeers, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import { matchFamily } from '../names.ts';
import { blockNetworks } from './block.ts';
import { blockSet, domainSet, namedPortGroup, peerSet, policyGroup, portTerm } from './names.ts';

export interface RuleContext {
  readonly view: Pick<View, 'policies'>;
  /** The key of the policy. */
  readonly name: string;
  /** Undefined for a policy of the whole cluster. */
  readonly namespace: string | undefined;
  readonly direction: PolicyDirection;
  readonly vpc: string;
  /** Place of the rule in its list. */
  readonly index: number;
}

const families = [4, 6] as const;

/** `ip4.src == {$a, $b}`. */
function isOneOf(field: string, values: readonly string[]): string {
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

/** Terms for the other end, one for each family that has one; with a named port only pods that give it this number. */
function peerTerms(
  context: RuleContext,
  { peers }: PolicyRule,
  named?: { readonly key: string; readonly number: number },
): readonly string[] {
  const { namespace = '', direction, name, vpc, index } = context;
  const isOfPeer = named !== undefined && direction === 'egress';
  if (peers === undefined && !isOfPeer) return ['ip'];
  const ids = podPeers({ peers, ports: undefined }).map((peer) => peerId(namespace, peer));
  return families.flatMap((family): readonly string[] => {
    const sets = [...new Set(ids)].map((id) => `$${peerSet(id, vpc, family, isOfPeer ? named : undefined)}`);
    // No pod is known by an address of a block, so that its named ports are unknown.
    const hasBlock = !isOfPeer && blockNetworks(peers?.blocks, family).length > 0;
    if (hasBlock) sets.push(`$${blockSet(name, direction, index, family)}`);
    // Named ports are those of pods. Rules of ingress have no names.
    const domains = isOfPeer ? [] : (peers?.domains ?? []);
    sets.push(...domains.map((domain) => `$${domainSet(domain, 'new', family)}`));
    if (sets.length === 0) return [];
    const ip = matchFamily(family);
    const other = `${ip}.${direction === 'ingress' ? 'src' : 'dst'}`;
    const known = domains.map((domain) => `$${domainSet(domain, 'kept', family)}`);
    return [
      `${ip} && ${isOneOf(other, sets)}`,
      ...(known.length === 0 ? [] : [`${ip} && ${isOneOf(other, known)} && ct.est && !ct.rpl`]),
    ];
  });
}

function protocolsOf(ports: readonly PolicyPort[]): readonly PolicyProtocol[] {
  return [...new Set(ports.map(({ protocol }) => protocol))];
}

/** A match, and the port group that it names: OVN knows the group where it has ports. */
export interface RuleMatch {
  readonly group: string;
  readonly match: string;
}

/** The matches of a rule; none for a rule that nothing satisfies. */
export function ruleMatches(context: RuleContext, rule: PolicyRule): readonly RuleMatch[] {
  const { view, name, namespace, direction, vpc } = context;
  const own = policyGroup(name, direction, vpc);
  const matchOf = (group: string, ...terms: readonly string[]): RuleMatch => ({
    group,
    match: [portTerm(direction, group), ...terms].join(' && '),
  });
  const { ports } = rule;
  if (ports === undefined) return peerTerms(context, rule).map((peer) => matchOf(own, peer));
  const matches: RuleMatch[] = [];
  for (const protocol of protocolsOf(ports)) {
    const ofProtocol = ports.filter((port) => port.protocol === protocol);
    const term = portsTerm(protocol, ofProtocol);
    if (term !== undefined) matches.push(...peerTerms(context, rule).map((peer) => matchOf(own, peer, term)));
    for (const { port } of ofProtocol) {
      if (typeof port !== 'string') continue;
      const key = namedPortKey(direction === 'ingress' ? namespace : undefined, protocol, port);
      for (const number of view.policies.numbers(key)) {
        const group = direction === 'ingress' ? namedPortGroup(name, vpc, key, number) : own;
        for (const peer of peerTerms(context, rule, { key, number }))
          matches.push(matchOf(group, peer, `${protocol}.dst == ${number}`));
      }
    }
  }
  return matches;
}
