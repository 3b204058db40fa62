/**
 * Which rule of which policy decides about a prefix, asked rule by rule as the kind RoutePolicy says. It explains;
 * the agent decides. Pure.
 */
import type { RouteMatch, RoutePolicySpec } from '../../lib/api/kinds/route-policy.ts';
import { cidrsOverlap, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { bitsOf } from '../../lib/net/ip.ts';
import { isAboutClusters, learnedOrigin, speaksOfLearned } from '../../lib/route-policy/policy.ts';
import { isProblem, type RoutePolicy } from '../state/snapshot.ts';

export interface Decision {
  readonly policy: string;
  /** From 0; undefined where the policy's defaultAction decided. */
  readonly rule: number | undefined;
  readonly action: 'Allow' | 'Deny';
}

type Direction = RoutePolicySpec['direction'];

export interface Subject {
  readonly cidr: Cidr;
  /** The other one: that offers it, or is told of it. */
  readonly cluster: string;
  readonly transitSwitch: string;
  readonly vpc: string;
  readonly origin?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** Undefined where no policy has anything to say: then all are allowed, but for telling others of a router's prefix. */
export function decisionOf(
  policies: readonly RoutePolicy[],
  direction: Direction,
  subject: Subject,
): Decision | undefined {
  for (const { name, spec } of inOrder(policies, direction)) {
    if (spec.transitSwitches !== undefined && !spec.transitSwitches.includes(subject.transitSwitch)) continue;
    const isCareful = direction === 'Export' && subject.origin === learnedOrigin;
    const rule = spec.rules.findIndex(
      ({ match, action }) => matches(match, subject) && !(isCareful && action === 'Allow' && !speaksOfLearned(match)),
    );
    const found = spec.rules[rule];
    if (found !== undefined) return { policy: name, rule, action: found.action };
    if (isCareful && spec.defaultAction === 'Allow') continue;
    if (spec.defaultAction !== 'Next') return { policy: name, rule: undefined, action: spec.defaultAction };
  }
  return undefined;
}

function inOrder(policies: readonly RoutePolicy[], direction: Direction) {
  return policies
    .flatMap(({ name, spec }) =>
      isProblem(spec) || spec.direction !== direction || !isAboutClusters(spec) ? [] : [{ name, spec }],
    )
    .toSorted((a, b) => a.spec.priority - b.spec.priority || (a.name < b.name ? -1 : 1));
}

function matches(match: RouteMatch, { cidr, cluster, vpc, origin, tags }: Subject): boolean {
  const { prefixes, origins, tags: wanted, vpcs, clusters } = match;
  if (prefixes !== undefined && !prefixes.some((range) => isIn(range, cidr))) return false;
  if (origins !== undefined && !origins.some((one) => one === origin)) return false;
  if (wanted !== undefined && !wanted.some((tag) => tags?.includes(tag) === true)) return false;
  if (vpcs !== undefined && !vpcs.includes(vpc)) return false;
  return clusters === undefined || clusters.includes(cluster);
}

type Range = NonNullable<RouteMatch['prefixes']>[number];

function isIn({ cidr: text, ge, le }: Range, cidr: Cidr): boolean {
  const range = parseCidr(text);
  if (range === undefined || range.prefix > cidr.prefix || !cidrsOverlap(range, cidr)) return false;
  const shortest = ge ?? range.prefix;
  const longest = le ?? (ge === undefined ? range.prefix : bitsOf(range.family));
  return cidr.prefix >= shortest && cidr.prefix <= longest;
}
