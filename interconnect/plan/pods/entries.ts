/** The RemotePodSlices of a cluster. Pure. */
import type { RemotePod } from '../../../lib/api/kinds/remote-pod-slice.ts';
import type { PodSet } from '../../model/pod-sets.ts';

export interface EntriesInput {
  /** Sets of the cluster that are wanted and known, by name. */
  readonly sets: Iterable<readonly [string, PodSet]>;
  readonly vpcs: readonly string[];
  /** Whether an address is one of the cluster in a VPC. */
  readonly isOf: (vpc: string, address: string) => boolean;
  /** When the hub lost contact with the cluster. */
  readonly since: string | undefined;
}

export function podEntries({ sets, vpcs, isOf, since }: EntriesInput): readonly RemotePod[] {
  return [...sets].flatMap(([set, { addresses, refusal }]): readonly RemotePod[] => [
    { set, vpc: '', address: '', ...(since !== undefined && { since }), ...(refusal !== '' && { reason: refusal }) },
    ...[...addresses].flatMap((address) => vpcs.flatMap((vpc) => (isOf(vpc, address) ? [{ set, vpc, address }] : []))),
  ]);
}
