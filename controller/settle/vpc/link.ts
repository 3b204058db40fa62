/** The ends of a link between two routers, as `localConnectIP` gives them. */
import { cidrsOverlap, formatCidr, lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';

export interface End {
  readonly ip: Ip;
  readonly cidr: Cidr;
}

/** The router port towards a peer. */
export function peerPort(local: string, remote: string): string {
  return `${local}-${remote}`;
}

/** A router could not answer for these, or has them on every port. */
const unusable = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/3', '::/127', 'fe80::/10', 'ff00::/8'].flatMap(
  (text) => parseCidr(text) ?? [],
);

function readEnd(text: string): End | string {
  const cidr = parseCidr(text);
  const ip = parseIp(text.slice(0, Math.max(text.indexOf('/'), 0)));
  if (cidr === undefined || ip === undefined)
    return `'${text}' is not an address with a prefix length such as 169.254.0.1/30`;
  const hostBits = bitsOf(cidr.family) - cidr.prefix;
  if (hostBits === 0) return `${text} leaves no address for the other side: use a shorter prefix`;
  const isEdge = ip.value === cidr.network || (cidr.family === 4 && ip.value === lastOf(cidr));
  if (hostBits > 1 && isEdge) return `${text} is not a host address of its network`;
  const reserved = unusable.find((one) => cidrsOverlap(one, cidr));
  return reserved === undefined ? { ip, cidr } : `${text} overlaps ${formatCidr(reserved)}, which is reserved`;
}

/** Parses one end, or one of each family separated by a comma. @returns a sentence if the text is invalid */
export function readEnds(text: string): readonly End[] | string {
  const ends = new Map<Family, End>();
  for (const part of text.split(',')) {
    const end = readEnd(part.trim());
    if (typeof end === 'string') return end;
    if (ends.has(end.cidr.family)) return `${text} has two IPv${end.cidr.family} addresses: keep one of each family`;
    ends.set(end.cidr.family, end);
  }
  return [...ends.values()].sort((a, b) => a.cidr.family - b.cidr.family);
}

/** `169.254.0.1/30` */
export function endText({ ip, cidr }: End): string {
  return `${formatIp(ip)}/${cidr.prefix}`;
}

function textOf(ends: readonly End[]): string {
  return ends.map(endText).join(',');
}

/** Why two ends are not those of one link. */
export function mismatchOf(local: readonly End[], remote: readonly End[]): string | undefined {
  const networks = (ends: readonly End[]): string => ends.map(({ cidr }) => formatCidr(cidr)).join();
  if (networks(local) !== networks(remote)) return `${textOf(local)} and ${textOf(remote)} are not in the same network`;
  const twice = local.find(({ ip }) => remote.some((end) => end.ip.family === ip.family && end.ip.value === ip.value));
  return twice && `both sides have the address ${formatIp(twice.ip)}`;
}
