/**
 * Load balancers of OVN for virtual addresses of Services: the texts of their columns, and the group of a VPC, which the switches of its pods
 * have. For all rooms that write load balancers. Pure.
 */
import type { Family } from '../net/ip.ts';
import { type Backend, backendKey } from './backends.ts';
import { variableName } from './variables.ts';
import type { ServiceVip } from './vips.ts';

/**
 * The source addresses of connections that an endpoint makes to itself by its Service, because an endpoint drops packets from its own
 * address. No Subnet may contain them.
 */
export const hairpinSources = ['169.254.169.5', 'fd69::5'] as const;

/** Prefix of the names of the groups that hold the load balancers of a VPC. */
export const balancerGroupPrefix = 'isthmus.lb.';

/** The group of all load balancers of a VPC. */
export function balancerGroup(vpc: string): string {
  return balancerGroupPrefix + vpc;
}

/** `10.96.0.1:443`. In a row with variables, an IPv6 address is a variable too, because OVN splits these texts at every colon. */
export function vipText(
  { family, address, port }: Pick<ServiceVip, 'family' | 'address' | 'port'>,
  isTemplate: boolean,
): string {
  if (family === 4 || !isTemplate) return backendKey(address, port.port);
  return `^${variableName('vip', address)}:${port.port}`;
}

/** A list of backends; empty: OVN rejects connections. */
export function backendsText(backends: readonly Pick<Backend, 'address' | 'port'>[]): string {
  return backends.map(({ address, port }) => backendKey(address, port)).join(',');
}

/** One protocol and family of a Service. */
export interface BalancerFacts {
  readonly protocol: ServiceVip['protocol'];
  readonly family: Family;
  /** Virtual address → backends, as `vipText` and `backendsText` have them. */
  readonly vips: Readonly<Record<string, string>>;
  readonly hasAffinity: boolean;
  /** Whether `vips` refer to template variables. */
  readonly isTemplate: boolean;
}

/**
 * The columns of a `Load_Balancer`.
 * @param ipv6Selection whether this OVN can select backends by the IPv6 address of a client
 */
export function balancerColumns(
  { protocol, family, vips, hasAffinity, isTemplate }: BalancerFacts,
  ipv6Selection: boolean,
) {
  return {
    protocol,
    vips,
    selection_fields: hasAffinity ? clientFields(family, ipv6Selection) : [],
    options: {
      reject: 'true',
      hairpin_snat_ip: hairpinSources.join(' '),
      // Without a flush, datagrams of a known connection would go to a removed backend. Connections of TCP end by themselves, and
      // those to a terminating endpoint must continue.
      ...(protocol === 'udp' ? { ct_flush: 'true' } : {}),
      ...(isTemplate ? { template: 'true', 'address-family': `ipv${family}` } : {}),
    },
  };
}

/** The fields that identify a client. An OVN that cannot select by IPv6 address selects by MAC address: clients are on the switch of the load balancer. */
function clientFields(family: Family, ipv6Selection: boolean): readonly string[] {
  if (family === 4) return ['ip_src'];
  return [ipv6Selection ? 'ipv6_src' : 'eth_src'];
}
