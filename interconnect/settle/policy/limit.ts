/** How many prefixes of one cluster are used. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byPrefix } from '../../../lib/net/cidr.ts';
import type { PolicySet } from '../../../lib/route-policy/compile.ts';

export interface LimitedPrefix {
  readonly transitSwitch: string;
  readonly cidr: string;
}

export interface Refusal<P extends LimitedPrefix = LimitedPrefix> {
  /** That offers it. */
  readonly cluster: string;
  readonly prefix: P;
  readonly policy: string;
  /** Code `MaxPrefixes`. */
  readonly problem: Problem;
}

/**
 * Prefixes of a cluster that exceed a `maxPrefixes`, counted over all prefixes that are allowed otherwise and over all
 * transit switches. The lowest addresses are used, IPv4 first, so that the same set has the same result in any order. A
 * prefix on several transit switches counts once.
 */
export function limitPrefixes<P extends LimitedPrefix>(
  set: PolicySet,
  cluster: string,
  prefixes: readonly P[],
): readonly Refusal<P>[] {
  const refused: Refusal<P>[] = [];
  let left = prefixes;
  for (const { name, spec, transitSwitches } of set.imports) {
    const limit = spec.maxPrefixes;
    if (limit === undefined) continue;
    const counted = left.filter(({ transitSwitch }) => transitSwitches?.has(transitSwitch) !== false);
    const cidrs = [...new Set(counted.map(({ cidr }) => cidr))];
    if (cidrs.length <= limit) continue;
    // Different texts of one prefix are in order, too.
    const ordered = byPrefix(cidrs.sort(), (cidr) => cidr);
    const beyond = new Set(ordered.slice(limit));
    const isBeyond = (prefix: P): boolean =>
      beyond.has(prefix.cidr) && transitSwitches?.has(prefix.transitSwitch) !== false;
    refused.push(
      ...left
        .filter(isBeyond)
        .map((prefix) => refusal(prefix, cluster, { policy: name, limit, offered: cidrs.length })),
    );
    left = left.filter((prefix) => !isBeyond(prefix));
  }
  return refused;
}

/** How many prefixes each policy's limit refused; a prefix on several transit switches counts once. */
export function overLimit(refusals: Iterable<Refusal>): ReadonlyMap<string, number> {
  const seen = new Map<string, Set<string>>();
  for (const { cluster, policy, prefix } of refusals) {
    const cidrs = seen.get(policy) ?? new Set<string>();
    seen.set(policy, cidrs.add(`${cluster} ${prefix.cidr}`));
  }
  return new Map([...seen].map(([policy, cidrs]) => [policy, cidrs.size]));
}

function refusal<P extends LimitedPrefix>(
  prefix: P,
  cluster: string,
  { policy, limit, offered }: { readonly policy: string; readonly limit: number; readonly offered: number },
): Refusal<P> {
  const message = `${prefix.cidr} of ${cluster} is beyond maxPrefixes ${limit} of RoutePolicy ${policy}: ${cluster} offers ${offered}, of which those with the lowest addresses are used; raise the limit, or let ${cluster} offer fewer, larger prefixes`;
  return { cluster, prefix, policy, problem: { code: 'MaxPrefixes', message } };
}
