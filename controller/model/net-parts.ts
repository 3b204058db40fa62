import type { FamilyNet } from '../ipam/family-pool.ts';
import type { SubnetNet } from '../ipam/subnet-pool.ts';

/** The families of a network, IPv4 first. */
export function partsOf({ v4, v6 }: SubnetNet): readonly FamilyNet[] {
  return [v4, v6].filter((part) => part !== undefined);
}
