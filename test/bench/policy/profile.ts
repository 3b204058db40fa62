/**
 * Policies of a scale profile of `k8s-netpol-scale`. In: the numbers of the profile; out: Namespaces, pods and policies. Rule: every rule has one peer,
 * a selector of pods of some Namespaces or a network, and all the ports; no two rules of a Namespace have the same peer; ingress and egress are alike.
 */
import type { Policy } from '../../model/network-policies.ts';
import { numbers } from './measurement.ts';

export interface Profile {
  /** Pods of its Namespace that a policy selects. */
  readonly localPods: number;
  readonly singlePorts: number;
  readonly portRanges: number;
  /** Rules with a selector in each direction, with so many Namespaces and so many pods in each of them. */
  readonly podSelectors: number;
  readonly peerNamespaces: number;
  readonly peerPods: number;
  /** Rules with a network in each direction. */
  readonly cidrs: number;
}

/** Enough that every selector names other ones: there are 66 ways to choose ten of twelve. */
export const namespaceCount = 12;
export const namespaceName = (at: number): string => `perf-${String(at)}`;
const rangeSize = 6;

/** Sets of `size` numbers below `namespaceCount`, in order. */
function* choices(size: number, from = 0): Generator<readonly number[]> {
  if (size === 0) yield [];
  else
    for (let first = from; first <= namespaceCount - size; first += 1)
      for (const rest of choices(size - 1, first + 1)) yield [first, ...rest];
}

/** Every pod has the labels `1` to the number of its place among the pods of its Namespace, so that a label selects so many pods. */
export function podLabels(at: number, podsPerNamespace: number): Readonly<Record<string, string>> {
  return Object.fromEntries(numbers(podsPerNamespace - at).map((label) => [String(label + at + 1), 'true']));
}

export const selectorOf = (pods: number): { readonly matchLabels: Readonly<Record<string, string>> } => ({
  matchLabels: { [String(pods)]: 'true' },
});

export function policiesOf(profile: Profile, count: number): readonly Policy[] {
  const { localPods, singlePorts, portRanges, podSelectors, peerNamespaces, peerPods, cidrs } = profile;
  const sets = [...choices(peerNamespaces)];
  const ports = [
    ...numbers(singlePorts).map((at) => ({ protocol: 'TCP', port: 1001 + at }) as const),
    ...numbers(portRanges).map(
      (at) => ({ protocol: 'TCP', port: 5000 + at * 10, endPort: 5000 + at * 10 + rangeSize - 1 }) as const,
    ),
  ];
  return numbers(count).map((policy): Policy => {
    const selected = numbers(podSelectors).map((rule) => {
      const values = (sets[(policy * podSelectors + rule) % sets.length] ?? []).map(namespaceName);
      const matchExpressions = [{ key: 'kubernetes.io/metadata.name', operator: 'In', values }] as const;
      return { namespaceSelector: { matchExpressions }, podSelector: selectorOf(peerPods) };
    });
    const networks = numbers(cidrs).map((rule) => {
      const value = policy * cidrs + rule;
      return { ipBlock: { cidr: `1.${String(value >> 8)}.${String(value & 255)}.0/24` } };
    });
    const peers = [...selected, ...networks];
    return {
      metadata: { namespace: namespaceName(0), name: `policy-${String(policy)}` },
      spec: {
        podSelector: selectorOf(localPods),
        policyTypes: ['Ingress', 'Egress'],
        ingress: peers.map((peer) => ({ from: [peer], ports })),
        egress: peers.map((peer) => ({ to: [peer], ports })),
      },
    };
  });
}
