import { annotation } from '../../../lib/api/names.ts';
import { notedUnderlay, routerMark, underlayText } from '../../../lib/api/in-force.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { IntervalSet } from '../../../lib/net/interval-set.ts';
import { formatRange, parseRange } from '../../../lib/net/range.ts';
import type { Range } from '../../../lib/net/range.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import { partsOf } from '../../model/net-parts.ts';
import type { Subnet } from '../../model/objects.ts';

const excludeMark = 'exclude=';
const ownerMark = 'of=';

/** A gateway that was replaced while pods used it. */
export interface FormerGateway {
  readonly ip: Ip;
  /** Pods created until then may have been configured with it. Milliseconds since 1970. */
  readonly untilMs: number;
}

/** `10.16.0.0/16,fd00::/64` */
export function cidrText(net: SubnetNet): string {
  return partsOf(net)
    .map(({ cidr }) => formatCidr(cidr))
    .join(',');
}

/** `10.16.0.1,fd00::1` */
export function gatewayText(net: SubnetNet): string {
  return partsOf(net)
    .map(({ cidr, gateway }) => formatIp({ family: cidr.family, value: gateway }))
    .join(',');
}

/** Parts of the note other than the network itself. */
export interface Noted {
  /** The uid of the Subnet that the network was accepted for. */
  readonly of?: string;
  readonly former: readonly FormerGateway[];
  /** Addresses of the VPC's router in an underlay subnet, beside the physical gateway. */
  readonly router: readonly Ip[];
}

/**
 * `10.16.0.0/16 10.16.0.254`, behind it `net1/100/u2o` in a VLAN, `exclude=10.16.0.2..10.16.0.9`, `router=10.16.0.2`,
 * for a former gateway `10.16.0.1@1763700000000`, and `of=` with the uid of the Subnet.
 */
export function renderAcceptedNote(
  net: NetInForce,
  { former, router, of = '' }: Noted = { former: [], router: [] },
): string {
  const parts = [cidrText(net), gatewayText(net)];
  if (net.underlay !== undefined) parts.push(underlayText(net.underlay));
  const excluded = excludedText(net);
  if (excluded !== '') parts.push(`${excludeMark}${excluded}`);
  if (router.length > 0) parts.push(`${routerMark}${router.map(formatIp).join(',')}`);
  if (former.length > 0) parts.push(former.map(({ ip, untilMs }) => `${formatIp(ip)}@${untilMs}`).join(','));
  if (of !== '') parts.push(`${ownerMark}${of}`);
  return parts.join(' ');
}

/** The excluded addresses without the gateway, as the fewest ranges. */
function excludedText(net: SubnetNet): string {
  return partsOf(net)
    .flatMap(({ cidr: { family }, gateway, excluded }) => {
      const set = new IntervalSet();
      for (const range of excluded) if (range.family === family) set.add(range.first, range.last);
      const ranges = set.intervals().filter(({ first, last }) => first !== gateway || last !== gateway);
      return ranges.map(({ first, last }) => formatRange({ family, first, last }));
    })
    .join(',');
}

function notedExclusions(note: string | undefined): readonly Range[] {
  const part = (note ?? '').split(' ').find((one) => one.startsWith(excludeMark)) ?? '';
  return part
    .slice(excludeMark.length)
    .split(',')
    .flatMap((text) => parseRange(text) ?? []);
}

/** The definition that was last accepted, from the controller's note on the Subnet. */
export function noteOn({ annotations }: Pick<Subnet, 'annotations'>): string | undefined {
  return annotations[annotation.accepted];
}

/** Undefined if the note is absent or invalid. Only the controller writes it. */
export function parseAcceptedNote(note: string | undefined): NetInForce | undefined {
  const [cidrs = '', gateways = ''] = (note ?? '').split(' ');
  const ips = gateways.split(',').map(parseIp);
  const underlay = notedUnderlay(note);
  const exclusions = notedExclusions(note);
  let net: NetInForce = underlay === undefined ? {} : { underlay };
  for (const text of cidrs.split(',')) {
    const cidr = parseCidr(text);
    const gateway = ips.find((ip) => ip !== undefined && ip.family === cidr?.family);
    if (cidr === undefined || gateway === undefined) return undefined;
    const excluded = exclusions.filter((range) => range.family === cidr.family);
    const family: FamilyNet = { cidr, gateway: gateway.value, excluded };
    net = cidr.family === 4 ? { ...net, v4: family } : { ...net, v6: family };
  }
  return net;
}

/** The former gateways of a note. */
export function parseFormerGateways(note: string | undefined): readonly FormerGateway[] {
  const former = (note ?? '').split(' ').find((part) => part.includes('@')) ?? '';
  return former.split(',').flatMap((text) => {
    const [address = '', until = ''] = text.split('@', 2);
    const ip = parseIp(address);
    return ip === undefined || !/^\d+$/.test(until) ? [] : [{ ip, untilMs: Number(until) }];
  });
}

/** The uid of the Subnet that a note belongs to. A recreated Subnet keeps the note while pods are in its network. */
export function notedOwner(note: string | undefined): string | undefined {
  const part = (note ?? '').split(' ').find((one) => one.startsWith(ownerMark));
  return part?.slice(ownerMark.length);
}

/** Addresses of the VPC's router in an underlay subnet, beside the physical gateway. */
export function notedRouter(note: string | undefined): readonly Ip[] {
  const part = (note ?? '').split(' ').find((one) => one.startsWith(routerMark)) ?? '';
  return part
    .slice(routerMark.length)
    .split(',')
    .flatMap((text) => parseIp(text) ?? []);
}

/** Addresses that are, or were, gateways according to a note. */
export function notedGateways(note: string | undefined): readonly Ip[] {
  const net = parseAcceptedNote(note);
  const current =
    net === undefined ? [] : partsOf(net).map(({ cidr, gateway }): Ip => ({ family: cidr.family, value: gateway }));
  return [...current, ...notedRouter(note), ...parseFormerGateways(note).map(({ ip }) => ip)];
}
