/** Pods and NetworkPolicies of the namespace shop, and policies of the whole cluster, as the API has them. Called by tests only. */
import type { RawObject } from '../lib/kube/types.ts';
import { noNumbers } from '../lib/policies/numbers.ts';
import { parseAdminRules, parseBaselineRules, parseClusterRules } from '../lib/policies/parse-cluster.ts';
import type { ClusterReading, NamespaceReading, OwnedPod, PolicyHost } from './model/policy-reading.ts';
import { parseNamespace } from './watch/namespace-policies.ts';

const namespace = 'shop';

/** A cluster without policies of the whole cluster. */
export const noCluster: ClusterReading = {
  cluster: { policies: new Map(), nodes: [], numbers: noNumbers, isPassClosed: false },
  reported: new Map(),
  unread: [],
};

interface PodParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly owner?: { readonly kind: string; readonly name: string };
  readonly ips?: readonly string[];
  readonly ports?: readonly object[];
  readonly spec?: object;
  readonly phase?: string;
}

function metaOf(name: string, more: object = {}): RawObject['metadata'] {
  return { name, namespace, uid: name, resourceVersion: '1', ...more };
}

/** `http` is 8080, unless the pod has other ports. */
export function podOf(name: string, parts: PodParts = {}): RawObject {
  const { labels = { app: name }, owner, ips = ['10.16.0.2'], spec, phase } = parts;
  const ownerReferences = owner === undefined ? [] : [{ uid: owner.name, controller: true, ...owner }];
  const { ports = [{ name: 'http', containerPort: 8080 }] } = parts;
  return {
    metadata: metaOf(name, { labels, ownerReferences }),
    spec: { containers: [{ ports }], ...spec },
    status: { phase: phase ?? 'Running', podIPs: ips.map((ip) => ({ ip })) },
  };
}

export function podsOf(owner: { readonly kind: string; readonly name: string }, count: number, parts: PodParts = {}) {
  const labels = { app: owner.name };
  return Array.from({ length: count }, (_, index) => podOf(`${owner.name}-${index}`, { labels, owner, ...parts }));
}

export function policyOf(name: string, spec: object): RawObject {
  return { metadata: metaOf(name), spec };
}

export function namespaceOf(pods: readonly RawObject[], policies: readonly RawObject[]): NamespaceReading {
  const labels = { team: namespace, 'kubernetes.io/metadata.name': namespace };
  const { namespace: _, ...metadata } = metaOf(namespace, { labels });
  return { ...parseNamespace({ metadata }, pods, policies), ...noCluster };
}

/** Closes all pods, in these directions. */
export const closed = (...policyTypes: readonly ('Ingress' | 'Egress')[]): RawObject =>
  policyOf('closed', { podSelector: {}, policyTypes });

const parsers = {
  ClusterNetworkPolicy: parseClusterRules,
  AdminNetworkPolicy: parseAdminRules,
  BaselineAdminNetworkPolicy: parseBaselineRules,
} as const;

/** A policy of the whole cluster. It selects all pods, in the tier Admin, unless the spec says otherwise. */
export function clusterPolicyOf(name: `${keyof typeof parsers}/${string}`, spec: object) {
  const [kind = '', own = ''] = name.split('/');
  const { namespace: _, ...metadata } = metaOf(own);
  const parse = parsers[kind as keyof typeof parsers];
  const whole = { tier: 'Admin', priority: 10, subject: { namespaces: {} }, ...spec };
  return [name, { ...parse({ metadata, spec: whole }), createdMs: 0 }] as const;
}

/** A cluster with these policies of the whole cluster. */
export function clusterOf(
  policies: readonly ReturnType<typeof clusterPolicyOf>[],
  more: Partial<ClusterReading['cluster']> = {},
): ClusterReading {
  return { cluster: { ...noCluster.cluster, policies: new Map(policies), ...more }, reported: new Map(), unread: [] };
}

/** A pod as one end of a connection. */
export function hostOf({ name, pod, addresses }: OwnedPod): PolicyHost {
  return {
    text: `pod ${pod.namespace}/${name}`,
    pod: { ...pod, name, securityGroups: '' },
    node: undefined,
    sources: addresses,
    destinations: addresses,
  };
}
