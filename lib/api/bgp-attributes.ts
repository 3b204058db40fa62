import type { Problem } from '../desired/problem.ts';
import { parseIp } from '../net/ip.ts';
import type { BgpAttributes } from './kinds/bgp-advertisement.ts';

/** The last AS number, which nobody may have (RFC 7300). Large communities that begin with it are marks of our own. */
export const reservedAsn = 4294967295;

/** What the schema of attributes cannot say. @param where the path of the attributes in their object */
export function attributesProblem({ communities, nextHop }: BgpAttributes, where: string): Problem | undefined {
  for (const [list, max] of [
    [communities?.standard ?? [], 0xffff],
    [communities?.large ?? [], 0xffffffff],
  ] as const) {
    const tooBig = list.find((community) => community.split(':').some((part) => Number(part) > max));
    if (tooBig !== undefined)
      return { code: 'CommunityInvalid', message: `${where}: community ${tooBig} has a part above ${max}` };
  }
  const reserved = communities?.large?.find((community) => community.startsWith(`${reservedAsn}:`));
  if (reserved !== undefined)
    return {
      code: 'CommunityInvalid',
      message: `${where}: large community ${reserved} begins with an AS that nobody can have`,
    };
  for (const [family, number] of [
    ['ipv4', 4],
    ['ipv6', 6],
  ] as const) {
    const address = nextHop?.[family];
    if (address === undefined || parseIp(address)?.family === number) continue;
    return {
      code: 'NextHopInvalid',
      message: `${where}: nextHop.${family} is ${address}, which is no address of that family`,
    };
  }
  return undefined;
}
