/** The router advertisements of a subnet's router port for IPv6 hosts. */
import { parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { SubnetSpec } from '../../model/objects.ts';
import { membersOf, readOptionTexts, unquoted } from './option-text.ts';

export interface RouterAdvert {
  /** `ipv6_ra_configs` of the port; empty if nothing is advertised. */
  readonly configs: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

const nothing: RouterAdvert = { configs: {}, problems: [] };
const defaults = {
  address_mode: 'dhcpv6_stateful',
  max_interval: '30',
  min_interval: '5',
  send_periodic: 'true',
} as const;

function oneOf(...values: readonly string[]): (value: string) => string | undefined {
  return (value) => (values.includes(value) ? value : undefined);
}

function integer(least: number, most: number): (value: string) => string | undefined {
  return (value) => (/^\d{1,6}$/.test(value) && Number(value) >= least && Number(value) <= most ? value : undefined);
}

/** `HIGH-aef1::/48,LOW-aef2::/96` */
function routeInfo(value: string): string | undefined {
  const members = membersOf(value);
  const isRoute = (member: string): boolean => {
    const [, prefix = ''] = /^(?:HIGH|MEDIUM|LOW)-(.+)$/.exec(member) ?? [];
    return parseCidr(prefix)?.family === 6;
  };
  return members.every(isRoute) ? members.join(',') : undefined;
}

const known: Readonly<Record<string, (value: string) => string | undefined>> = {
  address_mode: oneOf('slaac', 'dhcpv6_stateful', 'dhcpv6_stateless'),
  router_preference: oneOf('HIGH', 'MEDIUM', 'LOW'),
  send_periodic: oneOf('true', 'false'),
  // The limits of RFC 4861 6.2.1; OVN corrects others without a word.
  max_interval: integer(4, 1800),
  min_interval: integer(3, 1350),
  mtu: integer(1280, 65_535),
  rdnss: (value) => (parseIp(value)?.family === 6 ? value : undefined),
  dnssl: (value) => {
    const text = unquoted(value);
    return text === undefined ? undefined : membersOf(text).join(',');
  },
  route_info: routeInfo,
};

/** `hasIpv6`: of the network in force. */
export function readRouterAdvert(spec: SubnetSpec, hasIpv6: boolean): RouterAdvert {
  if (!spec.enableIPv6RA) return nothing;
  if (!hasIpv6)
    return {
      ...nothing,
      problems: ['spec.enableIPv6RA: the subnet has no IPv6 CIDR to advertise: add one or remove it'],
    };
  const { values, problems } = readOptionTexts(spec.ipv6RAConfigs);
  const sentences = [...problems];
  const given: Record<string, string> = {};
  for (const [name, value] of values) {
    const rendered = Object.hasOwn(known, name) ? known[name]?.(value) : undefined;
    if (rendered !== undefined) given[name] = rendered;
    else if (Object.hasOwn(known, name))
      sentences.push(`${name}=${value} has a value that OVN does not accept: correct it`);
    else sentences.push(`${name} is not an option of OVN's router advertisements: remove it`);
  }
  const mtu: Readonly<Record<string, string>> = spec.mtu >= 1280 ? { mtu: String(spec.mtu) } : {};
  // Without a mode OVN sends no advertisement: an invalid option must not leave less than the defaults.
  const base = values.size === 0 || given['address_mode'] === undefined ? defaults : {};
  return { configs: { ...mtu, ...base, ...given }, problems: sentences.map((text) => `spec.ipv6RAConfigs: ${text}`) };
}
