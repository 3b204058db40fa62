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

/** The ports in a VPC that policies with the same selection select, as `selectionOf` names it. */
export function selectionGroup(selection: string, direction: PolicyDirection, vpc: string): string {
  return `np.${digestName(selection, vpc)}.${short[direction]}`;
}

/** The selected ports of pods that give a named port this number. */
export function namedPortGroup(selection: string, vpc: string, key: string, number: number): string {
  return `np.${digestName(selection, vpc, key, String(number))}.port`;
}
