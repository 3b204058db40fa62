import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { PolicyDirection } from '../../lib/policies/selection.ts';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';
import type { Pod } from '../model/pod.ts';

/** The NetworkPolicies that isolate an interface of a pod in a direction: what none of them allows is dropped. In the order of their names. */
export function isolatingPolicies(
  policies: Iterable<IsolatingPolicy>,
  { namespace, labels }: Pick<Pod, 'namespace' | 'labels'>,
  provider: string,
  direction: PolicyDirection,
): readonly IsolatingPolicy[] {
  return [...policies]
    .filter(
      (policy) =>
        policy.namespace === namespace &&
        policy.directions.includes(direction) &&
        (policy.providers?.includes(provider) ?? true) &&
        matchesSelector(policy.pods, labels),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
