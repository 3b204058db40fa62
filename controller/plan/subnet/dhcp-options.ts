/**
 * Options of OVN's DHCP server. In: the text of a Subnet or a pod, and defaults. Out: the options in the form that OVN
 * parses, and a sentence for each option that it could not. Rule: every option is checked, because northd copies options into
 * a flow that ovn-controller drops as a whole if one of them is wrong.
 */
import { parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { parseMac } from '../../../lib/net/mac.ts';
import { membersOf, readOptionTexts, unquoted } from './option-text.ts';

export interface DhcpOptions {
  readonly options: Readonly<Record<string, string>>;
  /** Sentences; the options they are about are left out. */
  readonly problems: readonly string[];
}

/** The value as OVN parses it; undefined if it is none. */
type Render = (value: string) => string | undefined;

function addresses(family: Family, most = 32): Render {
  return (value) => {
    const members = membersOf(value);
    if (members.length > most || members.some((text) => parseIp(text)?.family !== family)) return undefined;
    return members.length === 1 ? members[0] : `{${members.join(',')}}`;
  };
}

function integer(least: number, most: number): Render {
  return (value) => (/^\d{1,10}$/.test(value) && Number(value) >= least && Number(value) <= most ? value : undefined);
}

const text: Render = (value) => {
  const inner = unquoted(value);
  return inner === undefined || inner.length > 255 ? undefined : `"${inner}"`;
};

const domains: Render = (value) => {
  const names = membersOf(unquoted(value) ?? '');
  const isName = (name: string): boolean =>
    /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?([.][a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/i.test(name);
  return names.every(isName) ? `"${names.join(',')}"` : undefined;
};

/** `{30.0.0.0/24,10.0.0.10, 0.0.0.0/0,10.0.0.1}` */
const routes: Render = (value) => {
  const members = membersOf(value);
  const isRight = members.every((member, index) =>
    index % 2 === 0 ? parseCidr(member)?.family === 4 : parseIp(member)?.family === 4,
  );
  return isRight && members.length % 2 === 0 ? `{${members.join(',')}}` : undefined;
};

const mac: Render = (value) => parseMac(value);
const bit = integer(0, 1);
const octet = integer(0, 255);
const seconds = integer(0, 4_294_967_295);
const v4 = addresses(4);

/** As the southbound database of OVN 23.03 lists them. */
const dhcpV4: Readonly<Record<string, Render>> = {
  server_id: addresses(4, 1),
  server_mac: mac,
  lease_time: seconds,
  router: v4,
  netmask: addresses(4, 1),
  dns_server: v4,
  log_server: v4,
  lpr_server: v4,
  swap_server: addresses(4, 1),
  policy_filter: v4,
  router_solicitation: addresses(4, 1),
  nis_server: v4,
  ntp_server: v4,
  netbios_name_server: v4,
  next_server: addresses(4, 1),
  broadcast_address: addresses(4, 1),
  tftp_server_address: v4,
  classless_static_route: routes,
  ms_classless_static_route: routes,
  ip_forward_enable: bit,
  router_discovery: bit,
  ethernet_encap: bit,
  default_ttl: octet,
  tcp_ttl: octet,
  netbios_node_type: octet,
  mtu: integer(68, 65_535),
  T1: seconds,
  T2: seconds,
  arp_cache_timeout: seconds,
  tcp_keepalive_interval: seconds,
  wpad: text,
  bootfile_name: text,
  bootfile_name_alt: text,
  path_prefix: text,
  hostname: text,
  domain_name: text,
  domain_search_list: domains,
  tftp_server: (value) => (parseIp(value)?.family === 4 ? value : text(value)),
};

const dhcpV6: Readonly<Record<string, Render>> = {
  server_id: mac,
  dns_server: addresses(6),
  domain_search: text,
  dhcpv6_stateless: (value) => (value === 'true' || value === 'false' ? value : undefined),
};

/** The options in `text`, completed by `defaults`. `field` begins the sentences: `spec.dhcpV4Options`. */
export function readDhcpOptions(
  family: Family,
  given: string,
  defaults: Readonly<Record<string, string>>,
  field: string,
): DhcpOptions {
  const known = family === 4 ? dhcpV4 : dhcpV6;
  const { values, problems } = readOptionTexts(given);
  const sentences = [...problems];
  const options: Record<string, string> = { ...defaults };
  for (const [name, value] of values) {
    const render = Object.hasOwn(known, name) ? known[name] : undefined;
    const rendered = render?.(value);
    if (rendered !== undefined) options[name] = rendered;
    else if (render === undefined) sentences.push(`${name} is not an option of OVN's DHCPv${family}: remove it`);
    else sentences.push(`${name}=${value} has a value that OVN does not accept: correct it`);
  }
  return { options, problems: sentences.map((sentence) => `${field}: ${sentence}`) };
}
