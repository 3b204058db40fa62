import type { Allocation } from '../../ipam/subnet-pool.ts';

/** `0a:… 10.16.0.2 fd00::2`, as OVN requires; `second` has further addresses of the same port. */
export function portAddresses({ mac, v4, v6 }: Allocation, second?: Allocation): string {
  return [mac, v4, v6, second?.v4, second?.v6].filter((text) => text !== undefined).join(' ');
}

/** `10.16.0.2,fd00::2`: the form annotations and IP objects have. */
export function addressText({ v4, v6 }: Allocation): string {
  return [v4, v6].filter((text) => text !== undefined).join(',');
}
