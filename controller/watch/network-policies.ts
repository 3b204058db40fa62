import { annotation } from '../../lib/api/names.ts';
import type { Fields } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { namedPortsOf, parsePolicyRules } from '../../lib/policies/parse.ts';
import type { ClusterRules, NamedPort } from '../../lib/policies/policy.ts';
import type { ClusterPolicy, NetworkPolicy } from '../model/objects.ts';
import { apiFactsOf, factsOf, namesSet, pick } from './fields.ts';
import { sharedValue } from './shared.ts';
import { unsupportedPolicyAnnotations } from './unsupported.ts';

export function parseNetworkPolicy(raw: RawObject): NetworkPolicy {
  const all = raw.metadata.annotations ?? {};
  return {
    ...factsOf(raw),
    ...parsePolicyRules(raw),
    annotations: pick(all, [annotation.problem]),
    unsupported: namesSet(all, unsupportedPolicyAnnotations),
  };
}

/** A policy of the whole cluster, with its parsed rules. */
export function clusterPolicy(raw: RawObject, rules: ClusterRules): ClusterPolicy {
  return { ...apiFactsOf(raw), ...rules };
}

const noPorts: readonly NamedPort[] = [];

/** The named ports of a pod's spec: one list for all pods with the same. */
export function sharedNamedPorts(spec: Fields): readonly NamedPort[] {
  const ports = namedPortsOf(spec);
  return ports.length === 0 ? noPorts : sharedValue(ports);
}
