/** Pods and NetworkPolicies of the namespace shop, as the API has them. Called by tests only. */
import type { RawObject } from '../lib/kube/types.ts';
import type { NamespaceReading } from './model/policy-reading.ts';
import { parseNamespace } from './watch/namespace-policies.ts';

const namespace = 'shop';

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
  return parseNamespace({ metadata }, pods, policies);
}

/** Closes all pods, in these directions. */
export const closed = (...policyTypes: readonly ('Ingress' | 'Egress')[]): RawObject =>
  policyOf('closed', { podSelector: {}, policyTypes });
