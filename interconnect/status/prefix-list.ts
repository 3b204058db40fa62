/** Published routes of a cluster: a sample in its RemoteCluster for users, entries of slices for programs, each with a limit. Pure. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { byPrefix, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { enclosingNetworks } from '../../lib/net/enclosing.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { bad, good, type Verdict } from './conditions.ts';

type Hop = NonNullable<RemoteClusterStatus['routes']>[number];
type Unlisted = NonNullable<RemoteClusterStatus['unlisted']>[number];

/** Others choose the tags, which count in the bytes: of the sample, of all slices of one cluster, and of one entry. */
export const limits = {
  sample: 100,
  sampleBytes: 200_000,
  prefixes: 10_000,
  bytes: 5_000_000,
  entryBytes: 100_000,
};
const mostNetworks = 64;

export interface RouteLists {
  /** For people, who look for problems: rejected prefixes first, then backups. */
  readonly sample: readonly Hop[];
  /** For programs; those that are rejected are left out first. */
  readonly entries: readonly RemoteRoute[];
  readonly unlisted: readonly Unlisted[];
  readonly verdict: Verdict;
}

export function listRoutes(cluster: string, uses: readonly RouteUse[]): RouteLists {
  const rejected = uses.filter((use) => use.rejected !== undefined);
  const taken = uses.filter((use) => use.rejected === undefined);
  // Where all have room, as they come; else in an order that a restart keeps.
  const asTheyCome = roomFor([...taken, ...rejected]);
  const isRoomForAll = asTheyCome.rest.length === 0;
  const { entries, rest } = isRoomForAll ? asTheyCome : roomFor([...inOrder(taken), ...inOrder(rejected)]);
  const left = rest.filter((use) => use.rejected === undefined);
  const unlisted = [...Map.groupBy(left, ({ transitSwitch }) => transitSwitch)].map(([transitSwitch, members]) => ({
    transitSwitch,
    count: members.length,
    within: enclosingNetworks(
      members.flatMap(({ prefix }) => parseCidr(prefix) ?? []),
      mostNetworks,
    ).map(formatCidr),
  }));
  const networks = unlisted.flatMap(({ transitSwitch, within }) =>
    within.map((prefix): RemoteRoute => ({ prefix, transitSwitch, state: 'Unlisted' })),
  );
  const backups = taken.filter((use) => !isActive(use));
  return {
    sample: sampleOf([...rejected, ...backups, ...taken.filter(isActive)]),
    entries: [...entries, ...networks],
    unlisted,
    verdict: verdictOf(cluster, { taken: taken.length, left: left.length, rejected: rest.length - left.length }),
  };
}

interface Counts {
  readonly taken: number;
  /** Of those, without room. */
  readonly left: number;
  /** Rejected ones without room. */
  readonly rejected: number;
}

function verdictOf(cluster: string, { taken, left, rejected }: Counts): Verdict {
  const type = 'PrefixesListed';
  if (left > 0) {
    const message = `${taken - left} of ${taken} prefixes are listed, because the list is full. Pods reach the other ${left}, but they are not announced to routers, packets of routers for them are not forwarded, and new Subnets must not overlap the networks that hold them (status.unlisted). Let ${cluster} offer fewer prefixes, by aggregates or larger subnets, or deny some with a RoutePolicy`;
    return bad(type, { code: 'TooManyPrefixes', message });
  }
  if (rejected === 0) return good(type, 'Listed', `prefixes: ${taken}`);
  return good(type, 'RejectedCut', `prefixes: ${taken}; ${rejected} of those that are rejected are not listed`);
}

function sampleOf(uses: readonly RouteUse[]): readonly Hop[] {
  const sample: Hop[] = [];
  let bytes = 0;
  for (const use of uses.slice(0, limits.sample)) {
    const hops = hopsOfRoute(use);
    bytes += JSON.stringify(hops).length;
    if (bytes > limits.sampleBytes) break;
    sample.push(...hops);
  }
  return sample;
}

/** One for each next hop, so that each path's part can be seen. */
function hopsOfRoute({ prefix, transitSwitch, origin, tags, hops, rejected }: RouteUse): readonly Hop[] {
  const common = { prefix, transitSwitch, origin, ...(tags.length === 0 ? {} : { tags: [...tags] }) };
  if (rejected !== undefined) {
    const nextHop = hops.map(({ address }) => address).join(',');
    return [{ ...common, nextHop, state: 'Rejected', reason: rejected.code, message: rejected.message }];
  }
  return hops.map(({ address, problem }): Hop => {
    if (problem === undefined) return { ...common, nextHop: address, state: 'Active' };
    return { ...common, nextHop: address, state: 'Backup', reason: problem.code, message: problem.message };
  });
}

export function isActive({ rejected, hops }: RouteUse): boolean {
  return rejected === undefined && hops.some(({ isUsed }) => isUsed);
}

function roomFor(uses: readonly RouteUse[]): {
  readonly entries: readonly RemoteRoute[];
  readonly rest: readonly RouteUse[];
} {
  const entries: RemoteRoute[] = [];
  const rest: RouteUse[] = [];
  let bytes = 0;
  for (const use of uses) {
    const entry = entryOf(use);
    // Only a prefix that is rejected can be none: it is in the sample, and its rejection says why.
    if (entry === undefined) continue;
    const size = JSON.stringify(entry).length;
    if (entries.length >= limits.prefixes || size > limits.entryBytes || bytes + size > limits.bytes) {
      rest.push(use);
      continue;
    }
    bytes += size;
    entries.push(entry);
  }
  return { entries, rest };
}

/** Next hops are left out: a path that goes down while others are up is no other entry. */
function entryOf(use: RouteUse): RemoteRoute | undefined {
  const { prefix, transitSwitch, origin, tags, rejected, hops } = use;
  const cidr = parseCidr(prefix);
  if (cidr === undefined) return undefined;
  const common = { transitSwitch, origin, ...(tags.length === 0 ? {} : { tags: [...tags] }) };
  const head = { ...common, prefix: formatCidr(cidr) };
  if (rejected !== undefined) return { ...head, state: 'Rejected', reason: rejected.code, message: rejected.message };
  if (isActive(use)) return { ...head, state: 'Active' };
  const reason = hops.find(({ problem }) => problem !== undefined)?.problem?.code;
  return { ...head, state: 'Backup', ...(reason === undefined ? {} : { reason }) };
}

/** By address. Prefixes from routers of that cluster come last, since they are announced to no router here. */
function inOrder(taken: readonly RouteUse[]): readonly RouteUse[] {
  const sorted = byPrefix(taken, ({ prefix }) => prefix);
  const isLearned = ({ origin }: RouteUse): boolean => origin === learnedOrigin;
  return [...sorted.filter((use) => !isLearned(use)), ...sorted.filter(isLearned)];
}
