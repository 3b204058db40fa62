/**
 * CHECK of one attachment: compares the result of ADD and the record with what the kernel and the database have, and returns the first
 * difference. Pure. Additions by later plugins of the chain, and the MAC address in their result, count as correct.
 */
import { cidrContains, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { SeenLink, SeenPodLink } from '../model/pod-interface.ts';

/** The result of ADD that the runtime keeps: that of the last plugin of the chain. */
export interface KeptResult {
  readonly interfaces?: readonly KeptInterface[] | undefined;
  readonly ips?: readonly KeptIp[] | undefined;
  readonly routes?: readonly KeptRoute[] | undefined;
}

interface KeptInterface {
  readonly name?: string | undefined;
  readonly mac?: string | undefined;
  readonly sandbox?: string | undefined;
  readonly mtu?: number | undefined;
}

interface KeptIp {
  readonly address?: string | undefined;
  readonly interface?: number | undefined;
}

interface KeptRoute {
  readonly dst?: string | undefined;
  readonly gw?: string | undefined;
}

export interface SeenAttachment {
  /** Undefined if there is none of that name. */
  readonly pod: SeenPodLink | undefined;
  readonly host: SeenLink | undefined;
  /** The fault of its port in the local OVS database. */
  readonly portFault: string | undefined;
}

/** A sentence without a full stop; undefined if everything is as ADD made it. */
export function findAttachmentFault(sandbox: Sandbox, kept: KeptResult, seen: SeenAttachment): string | undefined {
  const { ifname, hostInterface } = sandbox;
  const index = kept.interfaces?.findIndex(({ name, sandbox: netns }) => name === ifname && (netns ?? '') !== '') ?? -1;
  const given = kept.interfaces?.[index];
  if (given === undefined) return `prevResult has no interface ${ifname} in a sandbox`;
  if (seen.pod === undefined) return `interface ${ifname} is gone`;
  if (seen.host === undefined) return `interface ${hostInterface} of the node is gone`;
  if (seen.pod.peer !== seen.host.index) return `interface ${ifname} is not the other end of ${hostInterface}`;
  const ips = (kept.ips ?? []).filter((ip) => ip.interface === index);
  return (
    linkFault(ifname, seen.pod, given.mac || sandbox.mac, given.mtu || seen.host.mtu) ??
    (seen.host.isUp ? undefined : `interface ${hostInterface} of the node is down`) ??
    addressFault(sandbox, ips, seen.pod) ??
    routeFault(ifname, ips, kept.routes ?? [], seen.pod) ??
    seen.portFault
  );
}

function linkFault(name: string, link: SeenLink, mac: string, mtu: number): string | undefined {
  if (!link.isUp) return `interface ${name} is down`;
  if (link.mac !== mac.toLowerCase()) return `interface ${name} has MAC address ${link.mac}, not ${mac}`;
  if (link.mtu !== mtu) return `interface ${name} has MTU ${link.mtu}, not ${mtu}`;
  return undefined;
}

function addressFault({ ifname, ips }: Sandbox, given: readonly KeptIp[], link: SeenPodLink): string | undefined {
  for (const ip of ips) {
    const cidr = given.find(({ address }) => equalIps(splitCidr(address).ip, ip))?.address;
    if (cidr === undefined) return `prevResult does not have address ${ip} of interface ${ifname}`;
    const there = link.addresses.find(({ address }) => equalIps(address, ip));
    if (there === undefined) return `interface ${ifname} has lost address ${ip}`;
    if (there.prefix !== splitCidr(cidr).prefix)
      return `address ${ip} of interface ${ifname} has prefix length ${there.prefix}, not ${splitCidr(cidr).prefix}`;
  }
  return undefined;
}

/** Our routes are those with gateways in our networks. Another interface of the pod may have taken over a destination. */
function routeFault(
  name: string,
  ips: readonly KeptIp[],
  routes: readonly KeptRoute[],
  link: SeenPodLink,
): string | undefined {
  for (const { dst, gw } of routes) {
    if (dst === undefined || gw === undefined) continue;
    if (!ips.some(({ address = '' }) => networkContains(address, gw))) continue;
    const found = link.routes.filter(({ destination }) => isSameNetwork(destination, dst));
    const own = found.filter(({ index }) => index === link.index);
    if (own.some(({ gateway }) => gateway !== undefined && equalIps(gateway, gw))) continue;
    if (own.length > 0)
      return `the route to ${dst} on interface ${name} leads to ${own[0]?.gateway ?? 'no gateway'}, not to ${gw}`;
    if (found.length === 0) return `the route to ${dst} by ${gw} is gone`;
  }
  return undefined;
}

function equalIps(a: string, b: string): boolean {
  return canonical(a) === canonical(b);
}

/** Text that is not an address is returned as it is. */
function canonical(text: string): string {
  const ip = parseIp(text);
  return ip === undefined ? text : formatIp(ip);
}

function isSameNetwork(a: string, b: string): boolean {
  const [one, other] = [parseCidr(a), parseCidr(b)];
  return one !== undefined && other !== undefined && formatCidr(one) === formatCidr(other);
}

function networkContains(network: string, address: string): boolean {
  const [cidr, ip] = [parseCidr(network), parseIp(address)];
  return cidr !== undefined && ip !== undefined && cidrContains(cidr, ip);
}

function splitCidr(cidr = ''): { readonly ip: string; readonly prefix: number } {
  const [ip = '', prefix] = cidr.split('/');
  return { ip, prefix: Number(prefix) };
}
