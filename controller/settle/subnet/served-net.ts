import type { NetInForce } from '../../model/net-in-force.ts';
import type { View } from '../../model/view.ts';

/** The network of a subnet that has rows: it is in force, and the Subnet is not both being deleted and empty. */
export function servedNet(view: View, name: string): NetInForce | undefined {
  const isLeaving = view.subnets.get(name)?.isDeleting === true && (view.pool(name)?.allocations().size ?? 0) === 0;
  return isLeaving ? undefined : view.verdicts.get(name)?.net;
}
