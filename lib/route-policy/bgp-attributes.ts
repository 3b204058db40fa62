import type { Problem } from '../desired/problem.ts';
import { formatIp, parseIp } from '../net/ip.ts';
import { unusableAs } from '../net/router-address.ts';
import { type BgpAttributes, llgrStale } from '../api/kinds/bgp-advertisement.ts';
import { reservedAsns } from '../api/kinds/bgp-shared.ts';

/** The last AS number, which is reserved (RFC 7300). Large communities that begin with it are marks of Isthmus. */
export const reservedAsn = 4294967295;

/**
 * What routers do not take: FRR ends the session for some next hops. The rules of the CRD say the same, but an object may be older than
 * they are. @param where the path of the attributes in their object
 */
export function attributesProblem({ communities, nextHop }: BgpAttributes, where: string): Problem | undefined {
  return communitiesProblem(communities, where) ?? nextHopProblem(nextHop, where);
}

function communitiesProblem(communities: BgpAttributes['communities'], where: string): Problem | undefined {
  const fail = (message: string): Problem => ({ code: 'CommunityInvalid', message: `${where}: ${message}` });
  const problem = [...(communities?.standard ?? []), ...(communities?.large ?? [])]
    .map(communityProblem)
    .find((found) => found !== undefined);
  if (problem !== undefined) return fail(problem);
  if (communities?.standard?.includes(llgrStale))
    return fail(`community ${llgrStale} is LLGR_STALE, with which a path is announced to no peer`);
  const reserved = communities?.large?.find((community) => community.startsWith(`${reservedAsn}:`));
  if (reserved !== undefined) return fail(`large community ${reserved} begins with an AS that no network can have`);
  return communities?.extended === undefined
    ? undefined
    : fail('extended communities are not sent; give large ones (communities.large)');
}

/** What is wrong with `asn:value` or `asn:value:value`. */
export function communityProblem(community: string): string | undefined {
  const parts = community.split(':');
  const max = parts.length === 2 ? 0xffff : 0xffffffff;
  return parts.some((part) => Number(part) > max) ? `community ${community} has a part above ${max}` : undefined;
}

function nextHopProblem(nextHop: BgpAttributes['nextHop'], where: string): Problem | undefined {
  for (const [family, number] of [
    ['ipv4', 4],
    ['ipv6', 6],
  ] as const) {
    const address = nextHop?.[family];
    if (address === undefined) continue;
    const fail = (what: string): Problem => ({
      code: 'NextHopInvalid',
      message: `${where}: nextHop.${family} is ${address}, which is ${what}`,
    });
    const ip = parseIp(address);
    if (ip?.family !== number) return fail('no address of that family');
    const use = unusableAs(ip);
    if (use !== undefined) return fail(`${use}; a router refuses it, or ends the session`);
  }
  return undefined;
}

/** @param field where the number stands */
export function asnProblem(asn: number | undefined, field: string): Problem | undefined {
  if (asn === undefined || !reservedAsns.includes(asn)) return undefined;
  return {
    code: 'AsnInvalid',
    message: `${field} is ${asn}, a reserved AS number that no router may have (RFC 6793, RFC 7300)`,
  };
}

/** An address that a router can have, in its canonical form. */
export function routerAddress(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined || unusableAs(ip) !== undefined ? undefined : formatIp(ip);
}
