/**
 * Parses policies of the whole cluster. In: ClusterNetworkPolicies of v1alpha2, AdminNetworkPolicies and BaselineAdminNetworkPolicies of v1alpha1. Rule, from
 * the text of the API: a rule with a part that is not known fails closed. One that accepts satisfies nothing then, any other one denies everything.
 */
import { isSelector } from '../api/label-selector.ts';
import type { LabelSelector } from '../api/kinds/shared.ts';
import { label } from '../api/names.ts';
import { parseDomainName, parseDomainPattern } from '../dns/name.ts';
import { fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../kube/fields.ts';
import type { Fields } from '../kube/fields.ts';
import type { RawObject } from '../kube/types.ts';
import type {
  BlockPeer,
  ClusterAction,
  ClusterRule,
  ClusterRules,
  ClusterTier,
  PodPeer,
  PolicyPort,
  PolicyProtocol,
} from './policy.ts';
import { namesClusters } from './selection.ts';

const protocolNames = { tcp: 'tcp', udp: 'udp', sctp: 'sctp', TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;
const allProtocols: readonly PolicyProtocol[] = ['tcp', 'udp', 'sctp'];

/** A part of a rule that this code does not know. */
class Unknown extends Error {
  override readonly name = 'Unknown';
}

/** A selector without any part that this code does not know. */
function selectorOf(value: unknown): LabelSelector {
  if (!isSelector(value) || hasOther(fieldsOf(value), ['matchLabels', 'matchExpressions']))
    throw new Unknown('a selector');
  for (const { operator, values = [] } of value.matchExpressions ?? []) {
    const isList = operator === 'In' || operator === 'NotIn';
    if (isList !== values.length > 0) throw new Unknown(`a selector with ${operator} and ${values.length} values`);
  }
  return value;
}

function hasOther(fields: Fields, known: readonly string[]): boolean {
  return Object.keys(fields).some((key) => !known.includes(key));
}

function protocolOf(text: string): PolicyProtocol {
  const known = Object.hasOwn(protocolNames, text) ? protocolNames[text as keyof typeof protocolNames] : undefined;
  if (known === undefined) throw new Unknown(`protocol '${text}'`);
  return known;
}

function rangeOf(protocol: PolicyProtocol, { start, end }: Fields): PolicyPort {
  if (typeof start !== 'number' || typeof end !== 'number') throw new Unknown('a range without start or end');
  return { protocol, port: start, endPort: end };
}

/** A name counts for every protocol: the port of the pod has its own. */
function namedPorts(name: string): readonly PolicyPort[] {
  return allProtocols.map((protocol) => ({ protocol, port: name }));
}

/** An entry of `protocols` in v1alpha2. */
function protocolPorts(raw: Fields): readonly PolicyPort[] {
  if (textOf(raw['destinationNamedPort']) !== '') return namedPorts(textOf(raw['destinationNamedPort']));
  const name = allProtocols.find((one) => raw[one] !== undefined);
  if (name === undefined) throw new Unknown('a protocol without a known field');
  const { destinationPort } = fieldsOf(raw[name]);
  if (hasOther(fieldsOf(raw[name]), ['destinationPort'])) throw new Unknown(`a field of ${name}`);
  if (destinationPort === undefined) return [{ protocol: name }];
  const { number, range } = fieldsOf(destinationPort);
  if (typeof number === 'number') return [{ protocol: name, port: number }];
  if (range === undefined) throw new Unknown('a port without number or range');
  return [rangeOf(name, fieldsOf(range))];
}

/** An entry of `ports` in v1alpha1. */
function numberedPorts(raw: Fields): readonly PolicyPort[] {
  if (textOf(raw['namedPort']) !== '') return namedPorts(textOf(raw['namedPort']));
  if (raw['portRange'] !== undefined) {
    const range = fieldsOf(raw['portRange']);
    return [rangeOf(protocolOf(textOf(range['protocol']) || 'TCP'), range)];
  }
  const { protocol, port } = fieldsOf(raw['portNumber']);
  if (typeof port !== 'number') throw new Unknown('a port without a known field');
  return [{ protocol: protocolOf(textOf(protocol) || 'TCP'), port }];
}

function portsOf(raw: Fields): readonly PolicyPort[] | undefined {
  if (raw['protocols'] !== undefined) return recordsOf(raw['protocols']).flatMap(protocolPorts);
  const ports = recordsOf(raw['ports']);
  return ports.length === 0 ? undefined : ports.flatMap(numberedPorts);
}

/** The API takes null for a field that is not there. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Namespaces with all their pods, or pods in namespaces; undefined for any other entry. */
function podPeerOf(raw: Fields): PodPeer | undefined {
  if (isGiven(raw['namespaces'])) return { namespaces: selectorOf(raw['namespaces']), pods: {} };
  if (!isGiven(raw['pods'])) return undefined;
  const { namespaceSelector = {}, podSelector = {}, ...others } = fieldsOf(raw['pods']);
  if (hasOther(others, [])) throw new Unknown('a field of pods');
  return { namespaces: selectorOf(namespaceSelector), pods: selectorOf(podSelector) };
}

/** The names that are served, and what is wrong with the others. */
function domainsOf(
  values: readonly string[],
  field: string,
): { readonly names: readonly string[]; readonly flaw: string | undefined } {
  const parsed = values.map((text) => ({ text, name: parseDomainName(text) ?? parseDomainPattern(text) }));
  const other = parsed.find(({ name }) => name === undefined)?.text;
  const flaw = other && `${field}: ${JSON.stringify(other.slice(0, 64))} is not a domain name, and matches nothing`;
  return { names: parsed.flatMap(({ name }) => name ?? []), flaw };
}

interface Peers {
  readonly pods: readonly PodPeer[];
  readonly blocks: readonly BlockPeer[];
  readonly domains: ReadonlySet<string>;
  readonly nodes: readonly LabelSelector[];
  readonly flaw: string | undefined;
}

function peersOf(entries: readonly Fields[], field: 'from' | 'to', action: ClusterAction): Peers {
  const pods: PodPeer[] = [];
  const blocks: BlockPeer[] = [];
  const nodes: LabelSelector[] = [];
  const domains = new Set<string>();
  let flaw: string | undefined;
  for (const [index, raw] of entries.entries()) {
    const pod = podPeerOf(raw);
    // A pod of another cluster is known a moment after it starts: until then it would pass a rule that should deny it.
    if (pod !== undefined && action !== 'Accept' && namesClusters(pod))
      throw new Unknown(`${field}[${index}] with ${label.cluster} and ${action}`);
    if (pod !== undefined) pods.push(pod);
    else if (field === 'to' && raw['nodes'] !== undefined) nodes.push(selectorOf(raw['nodes']));
    else if (field === 'to' && raw['networks'] !== undefined)
      blocks.push(...textsOf(raw['networks']).map((cidr) => ({ cidr, except: [] })));
    else if (field === 'to' && raw['domainNames'] !== undefined) {
      // The API knows names for Accept alone, because nobody knows all addresses of a name.
      if (action !== 'Accept') throw new Unknown(`${field}[${index}].domainNames with ${action}`);
      const known = domainsOf(textsOf(raw['domainNames']), `${field}[${index}].domainNames`);
      for (const name of known.names) domains.add(name);
      flaw ??= known.flaw;
    } else throw new Unknown(`${field}[${index}] has no known field`);
  }
  return { pods, blocks, domains, nodes, flaw };
}

/** The networks of all addresses. */
export const everything: readonly BlockPeer[] = ['0.0.0.0/0', '::/0'].map((cidr) => ({ cidr, except: [] }));

const actions: Readonly<Record<string, ClusterAction>> = {
  Accept: 'Accept',
  Allow: 'Accept',
  Deny: 'Deny',
  Pass: 'Pass',
};

function ruleOf(raw: Fields, field: 'from' | 'to'): ClusterRule {
  const name = textOf(raw['name']);
  const text = textOf(raw['action']);
  const action = Object.hasOwn(actions, text) ? actions[text] : undefined;
  try {
    if (action === undefined) throw new Unknown(`action '${text}'`);
    const { pods, blocks, domains, nodes, flaw } = peersOf(recordsOf(raw[field]), field, action);
    const ports = portsOf(raw);
    // Other clusters send addresses, not the ports of their pods.
    const isNamed = ports?.some(({ port }) => typeof port === 'string') === true;
    if (field === 'to' && isNamed && pods.some(namesClusters)) throw new Unknown(`a named port with ${label.cluster}`);
    const peers = domains.size === 0 ? { pods, blocks } : { pods, blocks, domains: [...domains].sort() };
    return { name, action, peers, nodes, ports, flaw };
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    const effect = action === 'Accept' ? 'accepts nothing' : 'denies everything';
    return {
      name,
      action: action === 'Accept' ? action : 'Deny',
      peers: { pods: [], blocks: action === 'Accept' ? [] : everything },
      nodes: [],
      ports: undefined,
      flaw: `${error.message} is not known; the rule ${effect}`,
    };
  }
}

function rulesOf(value: unknown, field: 'from' | 'to'): readonly ClusterRule[] | undefined {
  const rules = recordsOf(value);
  return rules.length === 0 ? undefined : rules.map((rule) => ruleOf(rule, field));
}

/** Undefined for one with a part that is not known, too. */
function subjectOf(raw: Fields): PodPeer | undefined {
  try {
    return podPeerOf(raw);
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    return undefined;
  }
}

function parse(raw: RawObject, tier: ClusterTier, priority: number): ClusterRules {
  const { subject, ingress, egress } = fieldsOf(raw['spec']);
  return {
    tier,
    priority,
    subject: subjectOf(fieldsOf(subject)),
    ingress: rulesOf(ingress, 'from'),
    egress: rulesOf(egress, 'to'),
  };
}

/** A ClusterNetworkPolicy of v1alpha2. */
export function parseClusterRules(raw: RawObject): ClusterRules {
  const { tier, priority } = fieldsOf(raw['spec']);
  return parse(raw, tier === 'Baseline' ? 'Baseline' : 'Admin', numberOf(priority));
}

/** An AdminNetworkPolicy of v1alpha1. */
export function parseAdminRules(raw: RawObject): ClusterRules {
  return parse(raw, 'Admin', numberOf(fieldsOf(raw['spec'])['priority']));
}

/** After all priorities that the API knows. */
const lastPriority = 1001;

/** The BaselineAdminNetworkPolicy of v1alpha1, which has no priority. */
export function parseBaselineRules(raw: RawObject): ClusterRules {
  return parse(raw, 'Baseline', lastPriority);
}
