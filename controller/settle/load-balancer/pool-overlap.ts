import type { Problem } from '../../../lib/desired/problem.ts';
import { lastOf } from '../../../lib/net/cidr.ts';
import { parsePoolRange } from '../../../lib/services/load-balancer.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { partsOf } from '../../model/net-parts.ts';
import type { LoadBalancerPool } from '../../model/objects.ts';
import { cidrText } from '../subnet/accepted-note.ts';
import { text } from '../fingerprint.ts';
import { isPoolInForce } from './judge-pools.ts';

/** The overlap of a new network with a LoadBalancerPool in force. Which pools are in force is in their statuses, so that a restart decides the same. */
export function poolOverlapOf(net: SubnetNet, pools: ReadonlyMap<string, LoadBalancerPool>): Problem | undefined {
  for (const name of [...pools.keys()].sort()) {
    const pool = pools.get(name);
    if (pool === undefined || !isPoolInForce(pool)) continue;
    const entry = pool.spec.addresses.find((one) => {
      const range = parsePoolRange(one);
      return partsOf(net).some(
        ({ cidr }) => range?.family === cidr.family && range.first <= lastOf(cidr) && cidr.network <= range.last,
      );
    });
    if (entry === undefined) continue;
    const message = `spec.cidrBlock ${cidrText(net)} overlaps ${entry} of LoadBalancerPool ${name}, which was there before: choose a free CIDR`;
    return { code: 'CIDROverlap', message };
  }
  return undefined;
}

/** The part of a pool on which verdicts on Subnets depend. */
export function poolFingerprint(pool: LoadBalancerPool | undefined): string {
  return pool === undefined ? '' : text([pool.spec.addresses, isPoolInForce(pool)]);
}
