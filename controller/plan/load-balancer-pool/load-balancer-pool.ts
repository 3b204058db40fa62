/** Counts and conditions of a LoadBalancerPool. It has no rows: its addresses are in the rows of the Services. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatRange } from '../../../lib/net/range.ts';
import type { View } from '../../model/view.ts';
import { obstacleConditions } from '../conditions.ts';
import { refusalEvents } from '../events.ts';
import type { Feature } from '../feature.ts';
import type { ObjectReport, WantedCondition } from '../report.ts';

/** Maximum number of addresses that a message names. */
const mostNamed = 5;

/** Reasons of SharedAddresses that are about the pool. */
const poolReasons: ReadonlySet<string> = new Set(['PoolDiffers', 'PoolNotShared', 'PrefixNotAllowed']);

/** A count above the largest exact number is reported as that number. */
function countOf(count: bigint): number {
  return count > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(count);
}

/** The notice of a pool's condition about addresses that other objects have taken since the pool is in force. */
function withheldNotice(view: View, name: string): Problem | undefined {
  const withheld = view.loadBalancerPoolVerdicts.get(name)?.withheld ?? [];
  if (withheld.length === 0) return undefined;
  const named = withheld.slice(0, mostNamed).map(({ range, owner }) => `${formatRange(range)} of ${owner}`);
  const rest = withheld.length > mostNamed ? [`${withheld.length - mostNamed} more`] : [];
  const message = `no Service gets ${[...named, ...rest].join(', ')}: remove them from spec.addresses, or release them there`;
  return { code: 'AddressesWithheld', message };
}

/** The notice of a shared pool's condition about Services that have an address in other clusters which the pool here does not contain, or is not shared with. */
function conflictNotice(view: View, name: string): Problem | undefined {
  if (view.loadBalancerPools.get(name)?.spec.isShared !== true) return undefined;
  const found = [...view.sharedAddresses.values()]
    .filter(({ pool, reason }) => pool === name && poolReasons.has(reason))
    .sort((a, b) => (a.service < b.service ? -1 : 1));
  const [first] = found;
  if (first === undefined) return undefined;
  const rest = found.length > 1 ? `; ${found.length - 1} other Services have such a problem` : '';
  return { code: first.reason, message: `${first.message}${rest}` };
}

export function planPoolConditions(view: View, name: string): readonly WantedCondition[] {
  const pool = view.loadBalancerPools.get(name);
  const problem = view.loadBalancerPoolVerdicts.get(name)?.problem;
  const conditions = obstacleConditions(pool?.generation, problem, undefined, 'PoolReady');
  const notice = conflictNotice(view, name) ?? withheldNotice(view, name);
  if (notice === undefined) return conditions;
  const reported = { reason: notice.code, message: notice.message };
  return conditions.map((one) => (one.type === 'Ready' ? { ...one, ...reported } : one));
}

function reportPool(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'loadBalancerPools', name } as const;
  const pool = view.loadBalancerPools.get(name);
  if (pool === undefined) return [{ object }];
  const { total, available, used } = view.loadBalancerUsage(name);
  const fields = { total: countOf(total), available: countOf(available), used: countOf(used) };
  const conditions = planPoolConditions(view, name);
  const events = refusalEvents('ValidateLoadBalancerPoolFailed', conditions, pool.conditions);
  return [{ object, status: { fields, conditions, events, rateLimit: 'counts' } }];
}

export const loadBalancerPoolFeature: Feature = {
  name: 'load-balancer-pool',
  all: (view) => view.loadBalancerPools.keys(),
  *reads(change) {
    if (change.kind === 'loadBalancerPools' || change.kind === 'loadBalancerUsage') yield change.name;
    if (change.kind === 'sharedAddresses')
      for (const shared of [change.before, change.after]) if (shared !== undefined) yield shared.pool;
  },
  report: reportPool,
};
