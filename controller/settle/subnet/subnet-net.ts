/** Reads a Subnet's spec by itself: its networks, gateways and exclusions, or the problem. */
import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, cidrsOverlap, formatCidr, lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { IntervalSet } from '../../../lib/net/interval-set.ts';
import { bitsOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import { formatRange, parseRange } from '../../../lib/net/range.ts';
import type { Range } from '../../../lib/net/range.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet, Vpc } from '../../model/objects.ts';
import type { SpecDefaults, VlanVerdict } from '../../model/settled.ts';
import { readUnderlay, u2oAddressProblem } from '../underlay/read-underlay.ts';
import { cidrText, gatewayText } from './accepted-note.ts';
import { withheldGateways } from './former-gateways.ts';
import { readVips } from './vip-list.ts';

export interface Definition {
  readonly net: NetInForce;
  readonly spec: SpecDefaults;
}

type Outcome<T> = { readonly value: T } | { readonly problem: Problem };

const reserved: readonly (readonly [string, string])[] = [
  ['0.0.0.0/8', 'reserved for this network'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['::/127', 'loopback or unspecified'],
  ['fe80::/10', 'link-local'],
  ['ff00::/8', 'multicast'],
];

function refuse(code: string, message: string): { readonly problem: Problem } {
  return { problem: { code, message } };
}

/** `<attachment>.<namespace>.ovn`: the network of a NetworkAttachmentDefinition. */
const attachmentProvider = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?[.][a-z0-9]([-a-z0-9]*[a-z0-9])?[.]ovn$/;

function unsupportedOf(subnet: Subnet, vpcs: ReadonlyMap<string, Vpc>): Problem | undefined {
  const { provider, vpc } = subnet.spec;
  const fields = [...subnet.unsupported];
  if (provider !== '' && provider !== 'ovn' && !attachmentProvider.test(provider)) fields.push('provider');
  if (subnet.spec.protocol === 'Mac' && subnet.spec.vlan === '') fields.push('protocol');
  if (fields.length > 0) {
    const names = fields.map((field) => `spec.${field}`).join(', ');
    return { code: 'NotSupported', message: `${names} cannot be served by this release: remove it` };
  }
  if (vpcs.has(vpcNameOf(subnet.spec)) || vpcNameOf(subnet.spec) === defaultVpc) return undefined;
  return {
    code: 'VpcNotFound',
    message: `spec.vpc names ${vpc}, which does not exist: create that Vpc or name ${defaultVpc}`,
  };
}

function readCidrs(text: string): Outcome<readonly Cidr[]> {
  const parts = text.split(',').map((part) => part.trim());
  const cidrs: Cidr[] = [];
  for (const part of parts) {
    const cidr = parseCidr(part);
    if (cidr === undefined)
      return refuse('CIDRInvalid', `spec.cidrBlock: '${part}' is not a CIDR such as 10.16.0.0/16`);
    const isSecond = cidrs.some(({ family }) => family === cidr.family);
    if (isSecond)
      return refuse('CIDRInvalid', `spec.cidrBlock has two IPv${cidr.family} CIDRs: keep one of each family`);
    const kind = reserved.find(([other]) => {
      const range = parseCidr(other);
      return range !== undefined && cidrsOverlap(range, cidr);
    });
    if (kind !== undefined)
      return refuse('CIDRInvalid', `spec.cidrBlock: ${formatCidr(cidr)} overlaps ${kind[0]} (${kind[1]})`);
    if (cidr.prefix > bitsOf(cidr.family) - 2) {
      return refuse(
        'CIDRTooSmall',
        `spec.cidrBlock: ${formatCidr(cidr)} leaves no address besides the gateway: use a prefix of at most ${bitsOf(cidr.family) - 2}`,
      );
    }
    cidrs.push(cidr);
  }
  return { value: cidrs };
}

function readGateways(text: string, cidrs: readonly Cidr[]): Outcome<ReadonlyMap<Family, bigint>> {
  const gateways = new Map<Family, bigint>();
  for (const part of text === '' ? [] : text.split(',').map((one) => one.trim())) {
    const ip = parseIp(part);
    if (ip === undefined) return refuse('GatewayInvalid', `spec.gateway: '${part}' is not an IP address`);
    const cidr = cidrs.find(({ family }) => family === ip.family);
    const isHost =
      cidr !== undefined && cidrContains(cidr, ip) && ip.value !== cidr.network && ip.value !== lastOf(cidr);
    if (!isHost)
      return refuse(
        'GatewayInvalid',
        `spec.gateway: ${part} is not a host address of spec.cidrBlock: use another one, or none for the first host address`,
      );
    if (gateways.has(ip.family))
      return refuse('GatewayInvalid', `spec.gateway has two IPv${ip.family} addresses: keep one`);
    gateways.set(ip.family, ip.value);
  }
  for (const { family, network } of cidrs) if (!gateways.has(family)) gateways.set(family, network + 1n);
  return { value: gateways };
}

function readExcluded(texts: readonly string[], cidrs: readonly Cidr[]): Outcome<readonly Range[]> {
  const ranges: Range[] = [];
  for (const text of texts) {
    const range = parseRange(text);
    if (range === undefined)
      return refuse('ExcludeIpsInvalid', `spec.excludeIps: '${text}' is neither an address nor lowest..highest`);
    if (!cidrs.some(({ family }) => family === range.family))
      return refuse('ExcludeIpsInvalid', `spec.excludeIps: '${text}' is of a family spec.cidrBlock does not have`);
    ranges.push(range);
  }
  return { value: ranges };
}

/** As written, the gateways among it, in order and once each. */
function excludeTexts(ranges: readonly Range[], gateways: readonly Ip[]): readonly string[] {
  const all = [...ranges];
  for (const { family, value } of gateways) {
    const isCovered = ranges.some((range) => range.family === family && range.first <= value && value <= range.last);
    if (!isCovered) all.push({ family, first: value, last: value });
  }
  all.sort(
    (a, b) => a.family - b.family || (a.first === b.first ? Number(a.last - b.last) : a.first < b.first ? -1 : 1),
  );
  return [...new Set(all.map(formatRange))];
}

/** Only the default VPC has gateways on nodes. */
function gatewayTypeOf({ spec }: Subnet): string {
  return spec.gatewayType === '' && vpcNameOf(spec) === defaultVpc ? 'distributed' : spec.gatewayType;
}

function specOf(subnet: Subnet, net: SubnetNet, excludeIps: readonly string[], isDefault: boolean): SpecDefaults {
  return {
    default: isDefault,
    vpc: vpcNameOf(subnet.spec),
    provider: subnet.spec.provider === '' ? 'ovn' : subnet.spec.provider,
    protocol: net.v6 === undefined ? 'IPv4' : net.v4 === undefined ? 'IPv6' : 'Dual',
    cidrBlock: cidrText(net),
    gateway: gatewayText(net),
    excludeIps,
    gatewayType: gatewayTypeOf(subnet),
  };
}

/** What a Subnet names, and the one Subnet that may be the default. */
export interface Surroundings {
  readonly vpcs: ReadonlyMap<string, Vpc>;
  readonly vlans: ReadonlyMap<string, VlanVerdict>;
  readonly defaultSubnet: string;
}

/** Reads a Subnet without regard to other Subnets. */
export function defineSubnet(subnet: Subnet, { vpcs, vlans, defaultSubnet }: Surroundings): Outcome<Definition> {
  const unsupported = unsupportedOf(subnet, vpcs);
  if (unsupported !== undefined) return { problem: unsupported };
  if (subnet.name === joinSubnet && subnet.spec.vlan !== '')
    return refuse(
      'NotSupported',
      `spec.vlan: subnet ${joinSubnet} connects nodes and routers of the overlay: remove spec.vlan`,
    );
  const underlay = readUnderlay(subnet.spec, vlans);
  if ('problem' in underlay) return underlay;
  const cidrs = readCidrs(subnet.spec.cidrBlock);
  if ('problem' in cidrs) return cidrs;
  const gateways = readGateways(subnet.spec.gateway, cidrs.value);
  if ('problem' in gateways) return gateways;
  const excluded = readExcluded(subnet.spec.excludeIps, cidrs.value);
  if ('problem' in excluded) return excluded;
  const parts = cidrs.value.map((cidr): FamilyNet => {
    const ranges = excluded.value.filter(({ family }) => family === cidr.family);
    const part = { cidr, gateway: gateways.value.get(cidr.family) ?? cidr.network + 1n, excluded: ranges };
    const { ips } = readVips(subnet.spec, [part]);
    const vips = ips.map(({ family, value }): Range => ({ family, first: value, last: value }));
    return { ...part, excluded: [...ranges, ...vips], withheld: withheldGateways(subnet, part) };
  });
  const v4 = parts.find(({ cidr }) => cidr.family === 4);
  const v6 = parts.find(({ cidr }) => cidr.family === 6);
  const u2oProblem = u2oAddressProblem(subnet.spec, parts);
  if (u2oProblem !== undefined) return { problem: u2oProblem };
  const net: NetInForce = {
    ...(v4 === undefined ? {} : { v4 }),
    ...(v6 === undefined ? {} : { v6 }),
    ...(underlay.value === undefined ? {} : { underlay: underlay.value }),
  };
  const gatewayIps = parts.map(({ cidr, gateway }): Ip => ({ family: cidr.family, value: gateway }));
  const spec = specOf(subnet, net, excludeTexts(excluded.value, gatewayIps), subnet.name === defaultSubnet);
  return { value: { net, spec } };
}

/** An address as text, of a family of a net. */
export function gatewayIp(net: FamilyNet): string {
  return formatIp({ family: net.cidr.family, value: net.gateway });
}

/** A family all of whose addresses are excluded, so that no pod gets one automatically. */
export function familyWithoutAddresses({ v4, v6 }: SubnetNet): Family | undefined {
  for (const part of [v4, v6]) {
    if (part === undefined) continue;
    const { cidr, gateway, excluded, withheld = [], foreign = [] } = part;
    const left = IntervalSet.of(cidr.network + 1n, lastOf(cidr) - 1n);
    for (const value of [gateway, ...withheld, ...foreign]) left.remove(value);
    for (const { family, first, last } of excluded) if (family === cidr.family) left.remove(first, last);
    if (left.count === 0n) return cidr.family;
  }
  return undefined;
}
