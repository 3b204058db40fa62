/** Whether a member may have addresses of the pool that it claims a shared address of. In: ranges, its limits. Out: why not. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrCovers, parseCidr } from '../../../lib/net/cidr.ts';
import { cidrsOf } from '../../../lib/net/range.ts';
import { parsePoolRange } from '../../../lib/services/load-balancer.ts';
import type { MemberSpec } from '../model/store.ts';

interface Limited {
  readonly cluster: string;
  /** Name of its HubMember. */
  readonly handle: string;
  readonly allowedPrefixes: MemberSpec['allowedPrefixes'];
}

/** The limit is that of prefixes: a member that may offer the one may have the other. */
export function refuseRanges(
  ranges: readonly string[],
  { cluster, handle, allowedPrefixes }: Limited,
): Problem | undefined {
  if (allowedPrefixes.length === 0) return undefined;
  const allowed = allowedPrefixes.flatMap((text) => parseCidr(text) ?? []);
  const outside = ranges.find((text) => {
    const range = parsePoolRange(text);
    return range === undefined || !cidrsOf(range).every((cidr) => allowed.some((one) => cidrCovers(one, cidr)));
  });
  if (outside === undefined) return undefined;
  const message = `${outside} is not within what ${cluster} may have (${allowedPrefixes.join(', ')}); the administrator of the hub can change HubMember ${handle}`;
  return { code: 'PrefixNotAllowed', message };
}
