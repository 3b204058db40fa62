/**
 * Prefixes of a VPC that could be offered to other clusters, before policies. In: its own prefixes, prefixes that
 * routers lead to, addresses of other clusters. Out: candidates, and a reason for each prefix of a router that is none.
 * Pure.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import { cidrCovers, formatCidr, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { specialUse } from '../../lib/net/special-use.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { Edge } from '../model/edges.ts';
import type { LocalVpc } from '../model/local.ts';
import type { OwnPrefix } from './policy/export.ts';

export interface Candidates {
  readonly prefixes: readonly OwnPrefix[];
  /** Codes: `Loop`, `PrefixInvalid`. */
  readonly refused: ReadonlyMap<string, Problem>;
}

/** A prefix that another cluster has of its own and that has all of these addresses. */
export type CoverOf = (cidr: Cidr) => { readonly cidr: Cidr; readonly holder: string } | undefined;

/**
 * A prefix that a router has within a cluster's addresses came from that cluster, and must not become a second way to
 * it.
 */
export function candidatesOf(vpc: LocalVpc, edges: ReadonlyMap<string, Edge>, coverOf: CoverOf): Candidates {
  const prefixes: OwnPrefix[] = vpc.prefixes.map((prefix) => ({ ...prefix, via: [] }));
  const refused = new Map<string, Problem>();
  for (const [prefix, { tags }] of edges) {
    const problem = obstacleTo(prefix, vpc, coverOf);
    if (problem === undefined) prefixes.push({ cidr: prefix, origin: learnedOrigin, tags, via: [] });
    else refused.set(prefix, problem);
  }
  return { prefixes, refused };
}

function obstacleTo(prefix: string, { ranges }: LocalVpc, coverOf: CoverOf): Problem | undefined {
  const cidr = parseCidr(prefix);
  const use = cidr === undefined ? 'nothing' : specialUse(cidr);
  if (cidr === undefined || use !== undefined)
    return {
      code: 'PrefixInvalid',
      message: `${prefix} of a router is not shared: it holds addresses for ${use}`,
    };
  const own = ranges.find((range) => cidrCovers(range.cidr, cidr));
  const cover = coverOf(cidr);
  if (own === undefined && cover === undefined) return undefined;
  const holder =
    own === undefined
      ? `${formatCidr(cover?.cidr ?? cidr)} of ${cover?.holder ?? ''}`
      : `${formatCidr(own.cidr)} (${own.name})`;
  return { code: 'Loop', message: `${prefix} of a router is offered to no cluster: it is within ${holder}` };
}
