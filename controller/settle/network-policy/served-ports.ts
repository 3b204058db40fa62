/** Named ports that policies mean. */
import type { NamedPort } from '../../../lib/policies/policy.ts';
import { wantsNetwork } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';

const noPorts: readonly NamedPort[] = [];

/** The named ports of a pod that has the network of the cluster now. */
export function servedPorts(pod: Pod | undefined): readonly NamedPort[] {
  return pod !== undefined && wantsNetwork(pod) ? pod.namedPorts : noPorts;
}
