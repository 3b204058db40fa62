/** Watches which pods NetworkPolicies isolate. Their rules are not kept: what a node counts about rules, it reads from OVN. */
import { reflect } from '../../lib/kube/reflector.ts';
import { networkPolicies } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { parsePolicyRules } from '../../lib/policies/parse.ts';
import { policyDirections } from '../../lib/policies/selection.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';

export function parseIsolatingPolicy(raw: RawObject): IsolatingPolicy {
  const rules = parsePolicyRules(raw);
  const { namespace, pods, providers } = rules;
  const directions = policyDirections.filter((direction) => rules[direction] !== undefined);
  return { name: raw.metadata.name, namespace, pods, providers, directions };
}

export function watchNetworkPolicies(options: {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
}) {
  return reflect({ ...options, resource: networkPolicies, parse: parseIsolatingPolicy });
}
