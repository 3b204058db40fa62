import type { Allocation } from '../../ipam/subnet-pool.ts';
import type { View } from '../../model/view.ts';

/** The addresses of a node in the join subnet, without its service address; undefined until they are allocated. */
export function joinAllocation(view: View, node: string): Allocation | undefined {
  return view.ports(`node/${node}`)[0]?.allocation;
}

/** The node's source addresses for connections of Services; undefined until they are allocated. */
export function serviceAllocation(view: View, node: string): Allocation | undefined {
  return view.ports(`node-service/${node}`)[0]?.allocation;
}
