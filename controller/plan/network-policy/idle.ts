/** What of a policy in force waits for pods: a subject that selects none, a named port that none has. */
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { isClusterPolicy, type PolicyRule } from '../../../lib/policies/policy.ts';
import { destinationsOf, namedKeys, policyDirections } from '../../../lib/policies/selection.ts';
import { clusterPolicyKey, clusterPolicyStores, type Policy } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** The name and the protocols of a named port, as `namedPortKey` orders them. */
function partsOf(key: string): readonly [protocol: string, name: string] {
  const [, protocol = '', name = ''] = key.split('/');
  return [protocol.toUpperCase(), name];
}

/** The first named port of a rule to which no pod gives a number. A policy of the whole cluster names it for every protocol at once. */
function unknownPort({ policies }: View, policy: Policy, keys: readonly string[]): string | undefined {
  const isUnknown = (key: string): boolean => policies.numbers(key).length === 0;
  if (!isClusterPolicy(policy)) {
    const key = keys.find(isUnknown);
    return key === undefined ? undefined : partsOf(key).toReversed().join('/');
  }
  const byName = Map.groupBy(keys, (key) => partsOf(key)[1]);
  return [...byName].find(([, ofName]) => ofName.every(isUnknown))?.[0];
}

export function idlePart(view: View, key: string, policy: Policy): Problem | undefined {
  if (!view.policies.inForce.has(key)) return undefined;
  for (const direction of policyDirections) {
    const namespace = destinationsOf(policy, direction);
    const rules: readonly PolicyRule[] = policy[direction] ?? [];
    for (const [index, rule] of rules.entries()) {
      const port = unknownPort(view, policy, namedKeys(rule, namespace));
      if (port === undefined) continue;
      const where = namespace === undefined ? 'in the cluster' : `in namespace ${namespace}`;
      const message = `spec.${direction}[${index}]: no pod ${where} has a port with the name ${port}: until one has, the rule contains none by this name`;
      return { code: 'UnknownPort', message };
    }
  }
  if (!view.policies.isIdle(key)) return undefined;
  const field = isClusterPolicy(policy) ? 'spec.subject' : 'spec.podSelector';
  return { code: 'SelectsNothing', message: `${field} ${idleText}` };
}

const idleText = 'selects no pod that has the network of the cluster: until it does, the policy has no effect';

/** Whether the object of a policy says that it selects nothing. */
export function saysIdle(view: View, key: string): boolean {
  const texts = [
    view.networkPolicies.get(key)?.annotations[annotation.problem],
    ...clusterPolicyStores.flatMap((store) => {
      const name = key.slice(key.indexOf('/') + 1);
      if (clusterPolicyKey(store, name) !== key) return [];
      return view[store].get(name)?.conditions.map(({ message }) => message) ?? [];
    }),
  ];
  return texts.some((text) => text?.includes(idleText) === true);
}
