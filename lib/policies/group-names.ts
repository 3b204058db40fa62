/** Names of the port groups of policies in OVN, which the controller writes and explanations read in matches. */
import { digestName } from '../ovn/digest-name.ts';
import type { PolicyDirection } from './selection.ts';

const short = { ingress: 'in', egress: 'out' } as const;

/** The ports that any NetworkPolicy isolates. */
export function isolationGroup(direction: PolicyDirection): string {
  return `isthmus.isolated.${short[direction]}`;
}

/** The ports that any policy of the whole cluster selects. */
export function clusterGroup(direction: PolicyDirection): string {
  return `isthmus.cluster.policies.${short[direction]}`;
}

/** The ports in a VPC that a policy selects. Names of policies may differ in characters that match expressions do not know. */
export function policyGroup(policy: string, direction: PolicyDirection, vpc: string): string {
  return `np.${digestName(policy, vpc)}.${short[direction]}`;
}

/** The selected ports of pods that give a named port this number. */
export function namedPortGroup(policy: string, vpc: string, key: string, number: number): string {
  return `np.${digestName(policy, vpc, key, String(number))}.port`;
}
