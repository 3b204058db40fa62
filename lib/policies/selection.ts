/** What identifies the pods that policies select and name. */
import type { LabelSelector } from '../api/kinds/shared.ts';
import { label } from '../api/names.ts';
import { selectorText } from '../store/selector-index.ts';
import { isClusterPolicy } from './policy.ts';
import type { AnyPolicy, PodPeer, PolicyProtocol, PolicyRule } from './policy.ts';

export const policyDirections = ['ingress', 'egress'] as const;
export type PolicyDirection = (typeof policyDirections)[number];

export interface Peer {
  readonly selector: LabelSelector;
  /** Named ports of egress rules, as `namedPortKey` names them. */
  readonly namedPorts: ReadonlySet<string>;
}

/** Prefixes of labels of the pod and of its namespace, and the key of the name of the namespace, in one set of labels. */
const [ofPod, ofNamespace, namespaceKey] = ['pod:', 'namespace:', 'name'] as const;
/** The key of the name of another cluster. Pods of this cluster do not have it, so that a selector which requires it never selects one. */
export const clusterKey = 'cluster';

interface WholeSelector {
  readonly matchLabels: Record<string, string>;
  readonly matchExpressions: NonNullable<LabelSelector['matchExpressions']>;
}

function prefixed(prefix: string, { matchLabels = {}, matchExpressions = [] }: LabelSelector): WholeSelector {
  const labels = Object.entries(matchLabels).map(([key, value]) => [prefix + key, value] as const);
  return {
    matchLabels: Object.fromEntries(labels),
    matchExpressions: matchExpressions.map((one) => ({ ...one, key: prefix + one.key })),
  };
}

/** Selects, of `policyLabels`, those of pods of one namespace. */
export function selectorWithin(namespace: string, pods: LabelSelector): WholeSelector {
  const { matchLabels, matchExpressions } = prefixed(ofPod, pods);
  return { matchLabels: { [namespaceKey]: namespace, ...matchLabels }, matchExpressions };
}

/** Selects, of `policyLabels`, those of the pods that a peer names without regard to clusters. */
function podSelector(namespace: string, { namespaces, pods }: PodPeer): WholeSelector {
  if (namespaces === undefined) return selectorWithin(namespace, pods);
  const [own, outer] = [prefixed(ofPod, pods), prefixed(ofNamespace, namespaces)];
  return {
    matchLabels: { ...outer.matchLabels, ...own.matchLabels },
    matchExpressions: [...outer.matchExpressions, ...own.matchExpressions],
  };
}

type Expressions = WholeSelector['matchExpressions'];

/** What a selector requires of the label that names clusters, and the rest of it. */
function splitClusters({ matchLabels = {}, matchExpressions = [] }: LabelSelector) {
  const { [label.cluster]: name, ...rest } = matchLabels;
  const [own, others] = [true, false].map((isOwn) =>
    matchExpressions.filter(({ key }) => (key === label.cluster) === isOwn),
  ) as [Expressions, Expressions];
  const one: Expressions = name === undefined ? [] : [{ key: clusterKey, operator: 'In', values: [name] }];
  const clusters = [...one, ...own.map((part) => ({ ...part, key: clusterKey }))];
  return { clusters, rest: { matchLabels: rest, matchExpressions: others } };
}

/** Whether a peer names pods of other clusters: a selector of it has the label of clusters. Without it, or with `DoesNotExist` alone, it names pods of this cluster. */
export function namesClusters({ namespaces = {}, pods }: PodPeer): boolean {
  return [namespaces, pods].some((one) =>
    splitClusters(one).clusters.some(({ operator }) => operator !== 'DoesNotExist'),
  );
}

/** Selects, of `policyLabels`, those of the peer's pods; of pods of other clusters with the name of their cluster. */
export function peerSelector(namespace: string, peer: PodPeer): LabelSelector {
  const [pods, namespaces] = [splitClusters(peer.pods), splitClusters(peer.namespaces ?? {})];
  const rest = { pods: pods.rest, namespaces: peer.namespaces && namespaces.rest };
  const selector = podSelector(namespace, rest);
  if (!namesClusters(peer)) return selector;
  const clusters = [...pods.clusters, ...namespaces.clusters];
  // `NotIn` alone would be satisfied by a pod of this cluster.
  const isRequired = clusters.some(({ operator }) => operator === 'In' || operator === 'Exists');
  const present: Expressions = isRequired ? [] : [{ key: clusterKey, operator: 'Exists' }];
  return { ...selector, matchExpressions: [...selector.matchExpressions, ...present, ...clusters] };
}

/** Selects, of `policyLabels`, those of the pods that a policy selects; undefined if it selects none. */
export function selectedBy(policy: AnyPolicy): LabelSelector | undefined {
  if (!isClusterPolicy(policy)) return selectorWithin(policy.namespace, policy.pods);
  return policy.subject && podSelector(noNamespace, policy.subject);
}

const selections = new WeakMap<AnyPolicy, string>();

/** What policies have in common that apply to the same interfaces of the same pods; undefined if it selects none. */
export function selectionOf(policy: AnyPolicy): string | undefined {
  let text = selections.get(policy);
  if (text === undefined) {
    const selector = selectedBy(policy);
    if (selector === undefined) return undefined;
    const providers = isClusterPolicy(policy) ? undefined : policy.providers;
    text = JSON.stringify([selectorText(selector), ...(providers ? [providers.toSorted()] : [])]);
    selections.set(policy, text);
  }
  return text;
}

/** Peers of a policy of the whole cluster name their namespaces. */
const noNamespace = '';

/** The namespace of a policy; empty for one of the whole cluster. */
export function namespaceOf(policy: AnyPolicy): string {
  return isClusterPolicy(policy) ? noNamespace : policy.namespace;
}

/** The namespace in which the destinations of a direction's rules are, for named ports; undefined for all of them. */
export function destinationsOf(policy: AnyPolicy, direction: PolicyDirection): string | undefined {
  return direction === 'egress' || isClusterPolicy(policy) ? undefined : policy.namespace;
}

/** Whether a selector takes pods of one namespace by its name, so that no label of the namespace counts. */
export function isOfOneNamespace({ matchLabels = {} }: LabelSelector): boolean {
  return matchLabels[namespaceKey] !== undefined;
}

/** The part of a selector that is about namespaces alone. */
export function namespacePart({ matchLabels = {}, matchExpressions = [] }: LabelSelector): LabelSelector {
  const isOutside = (key: string): boolean => !key.startsWith(ofPod);
  return {
    matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => isOutside(key))),
    matchExpressions: matchExpressions.filter(({ key }) => isOutside(key)),
  };
}

type Labels = Readonly<Record<string, string>>;

export interface LabelledPod {
  readonly namespace: string;
  readonly labels: Labels;
}

/** Many pods share one object of labels. */
const prefixedLabels = { pod: new WeakMap<Labels, Labels>(), namespace: new WeakMap<Labels, Labels>() } as const;

function labelsOf(known: WeakMap<Labels, Labels>, prefix: string, labels: Labels): Labels {
  let result = known.get(labels);
  if (result === undefined) {
    result = Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefix + key, value]));
    known.set(labels, result);
  }
  return result;
}

/** The labels by which policies select a pod, and name it as a peer. */
export function policyLabels({ namespace, labels }: LabelledPod, namespaceLabels: Labels): Labels {
  return {
    ...labelsOf(prefixedLabels.pod, ofPod, labels),
    ...labelsOf(prefixedLabels.namespace, ofNamespace, namespaceLabels),
    [namespaceKey]: namespace,
  };
}

/** All pods of all namespaces. */
const allPods: PodPeer = { namespaces: {}, pods: {} };

/** The pods that a rule names; with a named port of any destination, all pods. */
export function podPeers({ peers }: PolicyRule): readonly PodPeer[] {
  return peers?.pods ?? [allPods];
}

/** What equal peers of policies have in common. */
export function peerId(namespace: string, peer: PodPeer): string {
  return selectorText(peerSelector(namespace, peer));
}

/** The named ports of a rule, whose numbers the destination decides: a selected pod for ingress, any pod for egress. */
export function namedKeys({ ports }: PolicyRule, namespace: string | undefined): readonly string[] {
  return (ports ?? []).flatMap(({ protocol, port }) =>
    typeof port === 'string' ? [namedPortKey(namespace, protocol, port)] : [],
  );
}

/** The domain names that a policy names, each once. */
export function domainsOf(policy: AnyPolicy): readonly string[] {
  return [...new Set((policy.egress ?? []).flatMap(({ peers }) => peers?.domains ?? []))];
}

const ingressKeys = new WeakMap<AnyPolicy, ReadonlySet<string>>();

/** The named ports of all ingress rules of a policy, as `namedPortKey` names them. */
export function ingressNamedKeys(policy: AnyPolicy): ReadonlySet<string> {
  let keys = ingressKeys.get(policy);
  if (keys === undefined) {
    keys = new Set((policy.ingress ?? []).flatMap((rule) => namedKeys(rule, destinationsOf(policy, 'ingress'))));
    ingressKeys.set(policy, keys);
  }
  return keys;
}

/** Names a port of pods of one namespace, or of all of them. */
export function namedPortKey(namespace: string | undefined, protocol: PolicyProtocol, name: string): string {
  return `${namespace ?? '*'}/${protocol}/${name}`;
}

/** The peers of all rules of a policy, with the named ports by which rules reach them. */
export function peersOf(policy: AnyPolicy): ReadonlyMap<string, Peer> {
  const { ingress = [], egress = [] } = policy;
  const namespace = namespaceOf(policy);
  const found = new Map<string, { selector: LabelSelector; namedPorts: Set<string> }>();
  const add = (peer: PodPeer, keys: readonly string[]): void => {
    const selector = peerSelector(namespace, peer);
    const id = selectorText(selector);
    const known = found.get(id) ?? { selector, namedPorts: new Set() };
    for (const key of keys) known.namedPorts.add(key);
    found.set(id, known);
  };
  for (const { peers } of ingress) for (const peer of peers?.pods ?? []) add(peer, []);
  for (const rule of egress) {
    const keys = namedKeys(rule, undefined);
    if (rule.peers !== undefined || keys.length > 0) for (const peer of podPeers(rule)) add(peer, keys);
  }
  return found;
}
