/** A Vpc's `policyRoutes`: rows of its router, and problems of single items. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import { checkMatch } from '../../../lib/ovn/match/check.ts';
import type { PolicyRoute, VpcSpec } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { nextHopOf } from '../../settle/external/lan-routes.ts';
import { networksOf } from '../../settle/vpc/next-hops.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { routers, routersReading } from './router.ts';
import { nextHopProblem } from './static-routes.ts';

const maxPriority = 32767;

export interface Policy {
  /** `spec.policyRoutes[0]` */
  readonly place: string;
  readonly priority: number;
  readonly match: string;
  readonly action: 'allow' | 'drop' | 'reroute';
  /** Of `reroute` only: at least one, all of one family, in order. */
  readonly nextHops: readonly Ip[];
}

export interface Policies {
  readonly policies: readonly Policy[];
  readonly problems: readonly Problem[];
}

type Outcome<T> = { readonly value: T } | { readonly problem: Problem };

function refuse(message: string): { readonly problem: Problem } {
  return { problem: { code: 'PolicyRouteInvalid', message } };
}

/** The family to which a match is limited, if it names one and has no negation. */
function familyOf(match: string): Family | undefined {
  const words = match.replaceAll(/"[^"]*"|[$@][\w.]+/g, ' ');
  if (words.includes('!')) return undefined;
  const has4 = /\bi(?:p|cmp)4\b/.test(words);
  const has6 = /\bi(?:p|cmp)6\b/.test(words);
  return has4 === has6 ? undefined : has4 ? 4 : 6;
}

function readNextHops({ nextHopIP, match }: PolicyRoute, place: string): Outcome<readonly Ip[]> {
  const texts = nextHopIP.split(',').map((text) => text.trim());
  if (nextHopIP.trim() === '') return refuse(`${place}.nextHopIP: action reroute needs the address of a next hop`);
  const hops = new Map<string, Ip>();
  for (const text of texts) {
    const ip = parseIp(text);
    if (ip === undefined) return refuse(`${place}.nextHopIP: '${text}' is not an IP address`);
    hops.set(formatIp(ip), ip);
  }
  const family = familyOf(match) ?? [...hops.values()][0]?.family;
  const stray = [...hops].find(([, ip]) => ip.family !== family);
  if (stray !== undefined)
    return refuse(
      `${place}.nextHopIP: ${stray[0]} is not of the family of the other next hops and the match: use one policy for each family`,
    );
  return { value: [...hops].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, ip]) => ip) };
}

function readPolicy(item: PolicyRoute, place: string): Outcome<Policy> {
  const { priority, match, action } = item;
  if (!Number.isInteger(priority) || priority < 0 || priority > maxPriority)
    return refuse(`${place}.priority: ${priority} is not a whole number from 0 to ${maxPriority}`);
  if (action !== 'allow' && action !== 'drop' && action !== 'reroute')
    return refuse(`${place}.action: '${action}' is none of allow, drop and reroute`);
  const problem = checkMatch(match, 'router-policy');
  if (problem !== undefined) return refuse(`${place}.match: ${problem.message}`);
  const nextHops: Outcome<readonly Ip[]> = action === 'reroute' ? readNextHops(item, place) : { value: [] };
  if ('problem' in nextHops) return nextHops;
  return { value: { place, priority, match, action, nextHops: nextHops.value } };
}

function effectOf({ action, nextHops }: Policy): string {
  return [action, ...nextHops.map(formatIp)].join(' ');
}

function read(spec: VpcSpec): Policies {
  const policies = new Map<string, Policy>();
  const problems: Problem[] = [];
  for (const [index, item] of spec.policyRoutes.entries()) {
    const outcome = readPolicy(item, `spec.policyRoutes[${index}]`);
    if ('problem' in outcome) {
      problems.push(outcome.problem);
      continue;
    }
    const policy = outcome.value;
    const key = policyKey(policy);
    const before = policies.get(key);
    if (before === undefined) policies.set(key, policy);
    else if (effectOf(before) !== effectOf(policy)) {
      const message = `${policy.place} has the same priority and match as ${before.place}, which stays in force: remove one, or change its priority`;
      problems.push({ code: 'PolicyRouteInvalid', message });
    }
  }
  return { policies: [...policies.values()], problems };
}

/** Parsed policies by spec: parsing matches dominates the cost of a plan, and a spec is immutable. */
const known = new WeakMap<VpcSpec, Policies>();

/** Policies of a spec, each once, and the problems of the others. */
export function readPolicyRoutes(spec: VpcSpec | undefined): Policies {
  if (spec === undefined) return { policies: [], problems: [] };
  const policies = known.get(spec) ?? read(spec);
  known.set(spec, policies);
  return policies;
}

function policyKey({ priority, match }: Policy): string {
  return `${priority}/${match}`;
}

/** Problems of policies with a next hop to which packets do not get; OVN ignores policies with one in no network of the router. */
export function unreachablePolicies(view: View, vpc: string): readonly Problem[] {
  const policies = readPolicyRoutes(view.vpcs.get(vpc)?.spec).policies.filter(({ nextHops }) => nextHops.length > 0);
  const networks = policies.length === 0 ? [] : networksOf(view, vpc);
  return policies.flatMap(({ place, nextHops }): Problem[] => {
    const problems = nextHops.map((nextHop) => nextHopProblem(view, vpc, { networks, nextHop, place, what: 'policy' }));
    return problems.filter((problem) => problem !== undefined).slice(0, 1);
  });
}

function planPolicies(view: View, vpc: string): Desired {
  if (!hasRouter(view, vpc)) return nothing;
  const { policies } = readPolicyRoutes(view.vpcs.get(vpc)?.spec);
  return {
    rows: policies.flatMap((policy): readonly DesiredRow[] => {
      const hops = policy.nextHops.flatMap((hop) => nextHopOf(view, vpc, hop) ?? []);
      if (policy.nextHops.length > 0 && hops.length === 0) return [];
      const columns = {
        priority: policy.priority,
        match: policy.match,
        action: policy.action,
        nexthops: [...new Set(hops.map(formatIp))],
        external_ids: vendorIds,
      };
      const parent = { table: 'Logical_Router', key: vpc, column: 'policies' } as const;
      return [{ table: 'Logical_Router_Policy', key: `vpc/${vpc}/${policyKey(policy)}`, columns, parent }];
    }),
  };
}

/** Keys: the VPC. */
export const policyRouteFeature: Feature = {
  name: 'policy-route',
  all: routers,
  reads: routersReading,
  plan: planPolicies,
  statusOf: (vpc) => `vpc/${vpc}`,
};
