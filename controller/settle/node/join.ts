import type { Allocation } from '../../ipam/subnet-pool.ts';
import type { View } from '../../model/view.ts';

/** The addresses a node has in the join subnet; undefined until it has. */
export function joinAllocation(view: View, node: string): Allocation | undefined {
  return view.ports(`node/${node}`)[0]?.allocation;
}
