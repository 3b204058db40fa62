/** An IPPool's address set, counts and conditions. The allocator settles which addresses it reserves. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { cidrsOf } from '../../../lib/net/range.ts';
import type { Range } from '../../../lib/net/range.ts';
import { obstacleConditions } from '../conditions.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition } from '../report.ts';
import { refusalEvents } from '../events.ts';
import type { Feature } from '../feature.ts';
import { withoutFormer } from '../finalizers.ts';
import { vendorIds } from '../names.ts';
import type { View } from '../../model/view.ts';
import { addressSetsOf } from '../../model/ovn-names.ts';

/** A single address without its prefix length, as people write it. */
function memberOf(range: Range): readonly string[] {
  return cidrsOf(range).map((cidr) => formatCidr(cidr).replace(cidr.family === 4 ? /\/32$/ : /\/128$/, ''));
}

/** One set for each family: OVN refuses a match with a set that mixes them. */
function setsOf(name: string, ranges: readonly Range[]): readonly (readonly [string, readonly Range[]])[] {
  const families = ([4, 6] as const).map((family) => ranges.filter((range) => range.family === family));
  const [base, second] = addressSetsOf(name);
  const [v4 = [], v6 = []] = families;
  if (v4.length === 0 || v6.length === 0) return [[base, ranges]];
  return [
    [base, v4],
    [second, v6],
  ];
}

function planIpPool(view: View, name: string): Desired {
  const pool = view.ipPools.get(name);
  const verdict = view.poolVerdicts.get(name);
  if (pool?.spec.enableAddressSet !== true || verdict === undefined || verdict.problem !== undefined)
    return { rows: [] };
  const sets = setsOf(name, verdict.ranges);
  return {
    rows: sets.map(([key]) => ({
      table: 'Address_Set',
      key,
      columns: { external_ids: { ...vendorIds, ippool: name } },
      collects: ['addresses'],
    })),
    // As members, so that a changed pool writes a few of them rather than the whole set.
    contributions: sets.map(([key, ranges]) => ({
      table: 'Address_Set',
      key,
      column: 'addresses',
      values: ranges.flatMap(memberOf),
    })),
  };
}

/** Counts and ranges; the field names are Kube-OVN's. */
export function planIpPoolUsage(view: View, name: string): Readonly<Record<string, unknown>> {
  const pool = view.pool(view.ipPools.get(name)?.spec.subnet ?? '');
  const isReady = view.poolVerdicts.get(name)?.problem === undefined;
  const of = (family: Family): Readonly<Record<string, unknown>> => {
    const figures = isReady ? pool?.pool(family)?.figures(name) : undefined;
    return {
      [`v${family}AvailableIPs`]: Number(figures?.available.count ?? 0n),
      [`v${family}AvailableIPRange`]: figures?.available.format(family) ?? '',
      [`v${family}UsingIPs`]: Number(figures?.used.count ?? 0n),
      [`v${family}UsingIPRange`]: figures?.used.format(family) ?? '',
    };
  };
  return { ...of(4), ...of(6) };
}

export function planIpPoolConditions(
  view: View,
  name: string,
  refused: Problem | undefined,
): readonly WantedCondition[] {
  const generation = view.ipPools.get(name)?.generation ?? 0;
  return obstacleConditions(generation, view.poolVerdicts.get(name)?.problem, refused, 'IPPoolReady');
}

function reportIpPool(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'ipPools', name } as const;
  const pool = view.ipPools.get(name);
  if (pool === undefined) return [{ object }];
  if (pool.isDeleting) return [{ object, finalizers: withoutFormer(pool.finalizers) }];
  const conditions = planIpPoolConditions(view, name, refusalOf(outcome));
  const events = refusalEvents('ValidateIPPoolFailed', conditions, pool.conditions);
  return [{ object, status: { fields: planIpPoolUsage(view, name), conditions, events, rateLimit: 'counts' } }];
}

export const ipPoolFeature: Feature = {
  name: 'ip-pool',
  all: (view) => view.ipPools.keys(),
  *reads(change, view) {
    if (change.kind === 'ipPools' || change.kind === 'poolVerdicts') yield change.name;
    if (change.kind !== 'usage') return;
    yield* view.indexes.poolsBySubnet.of(change.name);
  },
  plan: planIpPool,
  report: reportIpPool,
};
