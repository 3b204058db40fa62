import type { FamilyPool } from '../../ipam/family-pool.ts';
import { planGatewayStatus } from '../gateway/status.ts';
import type { View } from '../../model/view.ts';
import { planU2oStatus } from '../underlay/u2o.ts';
import { planQuerierStatus } from './multicast.ts';

interface Figures {
  readonly available: number;
  readonly using: number;
  readonly availableRange: string;
  readonly usingRange: string;
}

/** Counts are numbers, as Kube-OVN's tools read them: above 2^53 the nearest there is. Ranges are exact. */
function figuresOf(pool: FamilyPool | undefined, isOpen: boolean): Figures {
  if (pool === undefined) return { available: 0, using: 0, availableRange: '', usingRange: '' };
  const family = pool.net.cidr.family;
  return {
    available: isOpen ? Number(pool.availableCount) : 0,
    using: Number(pool.used.count),
    availableRange: isOpen ? pool.available.format(family) : '',
    usingRange: pool.used.format(family),
  };
}

/** A Subnet's counts and ranges; the field names, odd capitals among them, are Kube-OVN's. */
export function planSubnetUsage(view: View, name: string): Readonly<Record<string, unknown>> {
  const pool = view.pool(name);
  const isOpen = view.verdicts.get(name)?.isOpen ?? false;
  const v4 = figuresOf(pool?.pool(4), isOpen);
  const v6 = figuresOf(pool?.pool(6), isOpen);
  return {
    v4availableIPs: v4.available,
    v4availableIPrange: v4.availableRange,
    v4usingIPs: v4.using,
    v4usingIPrange: v4.usingRange,
    v6availableIPs: v6.available,
    v6availableIPrange: v6.availableRange,
    v6usingIPs: v6.using,
    v6usingIPrange: v6.usingRange,
  };
}

/** A Subnet's status without its conditions and the values that only the database has. Null stands for an absent field. */
export function planSubnetStatus(view: View, name: string): Readonly<Record<string, unknown>> {
  return {
    ...planSubnetUsage(view, name),
    ...planQuerierStatus(view, name),
    ...planU2oStatus(view, name),
    ...planGatewayStatus(view, name),
  };
}
