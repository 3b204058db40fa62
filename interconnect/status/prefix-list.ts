/** What a RemoteCluster lists of the routes of its cluster: hops for people, prefixes for programs, each with a limit. Pure. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { byPrefix, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { enclosingNetworks } from '../../lib/net/enclosing.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { bad, good, type Verdict } from './conditions.ts';

type Hop = NonNullable<RemoteClusterStatus['routes']>[number];
type Group = NonNullable<RemoteClusterStatus['prefixes']>[number];
type Unlisted = NonNullable<RemoteClusterStatus['unlisted']>[number];

/** An object has at most 1.5 MB in etcd: both lists together stay below that, whatever others put into tags. */
export const limits = { hops: 1000, hopBytes: 400_000, prefixes: 10_000, prefixBytes: 500_000 };
const mostNetworks = 64;

export interface RouteLists {
  readonly routes: readonly Hop[];
  readonly prefixes: readonly Group[];
  readonly unlisted: readonly Unlisted[];
  readonly verdict: Verdict;
}

export function listRoutes(cluster: string, uses: readonly RouteUse[]): RouteLists {
  const { listed: routes, total: hops } = hopsOf(uses);
  const taken = uses.filter(({ rejected }) => rejected === undefined);
  // Where all have room, as they come; else in an order that a restart keeps.
  const asTheyCome = groupsOf(taken);
  const { groups, rest } = asTheyCome.rest.length === 0 ? asTheyCome : groupsOf(inOrder(taken));
  const unlisted = [...Map.groupBy(rest, ({ transitSwitch }) => transitSwitch)].map(([transitSwitch, members]) => ({
    transitSwitch,
    count: members.length,
    within: enclosingNetworks(
      members.flatMap(({ prefix }) => parseCidr(prefix) ?? []),
      mostNetworks,
    ).map(formatCidr),
  }));
  const counts = { hops, listedHops: routes.length, prefixes: taken.length, unlisted: rest.length };
  return { routes, prefixes: groups, unlisted, verdict: verdictOf(cluster, counts) };
}

interface Counts {
  readonly hops: number;
  readonly listedHops: number;
  readonly prefixes: number;
  readonly unlisted: number;
}

function verdictOf(cluster: string, { hops, listedHops, prefixes, unlisted }: Counts): Verdict {
  const type = 'PrefixesListed';
  if (unlisted > 0) {
    const message = `${prefixes - unlisted} of ${prefixes} prefixes are listed, for want of room. Pods reach the other ${unlisted}, but they are not announced to routers, packets of routers for them are not forwarded, and new Subnets must keep clear of the networks that hold them (status.unlisted). Let ${cluster} offer fewer prefixes, by aggregates or larger subnets, or refuse some by a RoutePolicy`;
    return bad(type, { code: 'TooManyPrefixes', message });
  }
  if (hops === listedHops) return good(type, 'Listed', `prefixes: ${prefixes}`);
  return good(type, 'HopsCut', `prefixes: ${prefixes}; of ${hops} next hops status.routes lists ${listedHops}`);
}

function hopsOf(uses: readonly RouteUse[]): { readonly listed: readonly Hop[]; readonly total: number } {
  const listed: Hop[] = [];
  let [total, bytes, isFull] = [0, 0, false];
  for (const use of uses) {
    total += use.rejected === undefined ? use.hops.length : 1;
    if (isFull) continue;
    for (const hop of hopsOfRoute(use)) {
      bytes += JSON.stringify(hop).length;
      isFull ||= listed.length >= limits.hops || bytes > limits.hopBytes;
      if (!isFull) listed.push(hop);
    }
  }
  return { listed, total };
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

function groupsOf(taken: readonly RouteUse[]): {
  readonly groups: readonly Group[];
  readonly rest: readonly RouteUse[];
} {
  const groups = new Map<string, Group & { readonly cidrs: string[] }>();
  const rest: RouteUse[] = [];
  let [count, bytes] = [0, 0];
  for (const use of taken) {
    const { prefix, transitSwitch, origin, tags, hops } = use;
    const state = hops.some(({ isUsed }) => isUsed) ? 'Active' : 'Backup';
    const head = { transitSwitch, state, origin, ...(tags.length === 0 ? {} : { tags: [...tags] }) } as const;
    const key = JSON.stringify(head);
    const size = prefix.length + 3 + (groups.has(key) ? 0 : key.length + 12);
    if (count >= limits.prefixes || bytes + size > limits.prefixBytes) {
      rest.push(use);
      continue;
    }
    count += 1;
    bytes += size;
    const group = groups.get(key) ?? { ...head, cidrs: [] };
    group.cidrs.push(prefix);
    groups.set(key, group);
  }
  return { groups: [...groups.values()], rest };
}

/** By address. Prefixes from routers of that cluster come last, since they are announced to no router here. */
function inOrder(taken: readonly RouteUse[]): readonly RouteUse[] {
  const sorted = byPrefix(taken, ({ prefix }) => prefix);
  const isLearned = ({ origin }: RouteUse): boolean => origin === learnedOrigin;
  return [...sorted.filter((use) => !isLearned(use)), ...sorted.filter(isLearned)];
}
