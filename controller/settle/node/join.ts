import type { Allocation } from '../../ipam/subnet-pool.ts';
import type { View } from '../../model/view.ts';

/** The addresses a node has in the join subnet, besides its service address; undefined until it has. */
export function joinAllocation(view: View, node: string): Allocation | undefined {
  return view.ports(`node/${node}`)[0]?.allocation;
}

/** The addresses that connections of Services leave the node with; undefined until it has them. */
export function serviceAllocation(view: View, node: string): Allocation | undefined {
  return view.ports(`node-service/${node}`)[0]?.allocation;
}
