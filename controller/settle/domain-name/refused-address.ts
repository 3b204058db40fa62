/** Addresses that a domain name must not have: the owner of the name could otherwise open a part of the cluster to the pods that may reach the name. */
import { cidrContains, parseCidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp, type Ip } from '../../../lib/net/ip.ts';
import { specialUse } from '../../../lib/net/special-use.ts';
import { partsOf } from '../../model/net-parts.ts';
import { networkOwner } from '../node/network-owner.ts';
import type { View } from '../../model/view.ts';

/** Where clouds serve the metadata of machines, beside 169.254.169.254. */
const metadata = new Set(['fd00:ec2::254', 'fd20:ce::254']);
/** IPv6 networks whose addresses lead to an address of IPv4, and how many bits come after it: NAT64 (RFC 6052) and 6to4 (RFC 3056). */
const translations = [
  { cidr: parseCidr('64:ff9b::/96'), bitsAfter: 0n },
  { cidr: parseCidr('2002::/16'), bitsAfter: 80n },
];
/** RFC 8215. Where the address of IPv4 is depends on the network. */
const localTranslation = parseCidr('64:ff9b:1::/48');

function subnetOf(view: View, ip: Ip): string | undefined {
  for (const [name, { net }] of view.verdicts) {
    if (net === undefined) continue;
    const part = partsOf(net).find(({ cidr }) => cidrContains(cidr, ip));
    if (part === undefined) continue;
    // The rest of a LAN belongs to machines that are not of the cluster.
    const isOurs = net.underlay === undefined || view.pool(name)?.pool(ip.family)?.owner(ip.value) !== undefined;
    if (isOurs || part.gateway === ip.value) return `in Subnet ${name}`;
  }
  return undefined;
}

function nodeOf(view: View, address: string): string | undefined {
  for (const { name, addresses, externalAddresses } of view.nodes.values())
    if (addresses.includes(address) || externalAddresses.includes(address)) return `of node ${name}`;
  return undefined;
}

/** Ranges alone do not suffice: Kubernetes before 1.33 has none, and addresses for clients outside of the cluster are in no range. */
function isOfService(view: View, ip: Ip, address: string): boolean {
  for (const _ of view.indexes.servicesByAddress.of(address)) return true;
  for (const { cidrs } of view.serviceCidrs.values())
    for (const text of cidrs) {
      const cidr = parseCidr(text);
      if (cidr !== undefined && cidrContains(cidr, ip)) return true;
    }
  return false;
}

/** The address of IPv4 that packets to an address of IPv6 end at. */
function translated(ip: Ip): string | undefined {
  for (const { cidr, bitsAfter } of translations)
    if (cidr !== undefined && cidrContains(cidr, ip))
      return formatIp({ family: 4, value: (ip.value >> bitsAfter) & 0xffff_ffffn });
  return undefined;
}

function useOf(ip: Ip): string | undefined {
  if (localTranslation !== undefined && cidrContains(localTranslation, ip)) return 'for NAT64 of one network';
  const use = specialUse({ family: ip.family, network: ip.value, prefix: bitsOf(ip.family) });
  return use && `for ${use}`;
}

/** Whether the name is one of pods or of a Service, also of other clusters: only authors of Services and their endpoints decide what it means. */
function isOfCluster(name: string, clusterDomain: string): boolean {
  const isOfSet = name.endsWith('.svc.clusterset.local');
  return isOfSet || name.endsWith(`.svc.${clusterDomain}`) || name.endsWith(`.pod.${clusterDomain}`);
}

/** What an address is that the name must not have; undefined if it may. @param address in canonical text */
export function refusedAs(view: View, clusterDomain: string, name: string, address: string): string | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return 'no address';
  const use = metadata.has(address) ? 'of the metadata of machines' : useOf(ip);
  if (use !== undefined) return use;
  const inner = translated(ip);
  const innerUse = inner && refusedAs(view, clusterDomain, name, inner);
  if (innerUse !== undefined) return `${innerUse} (it leads to ${inner})`;
  // Rules see endpoints.
  if (isOfService(view, ip, address)) return 'of a Service, whose pods are to be named instead';
  const node = nodeOf(view, address);
  if (node !== undefined || isOfCluster(name, clusterDomain)) return node;
  const subnet = subnetOf(view, ip);
  if (subnet !== undefined) return subnet;
  const other = networkOwner(view, address);
  return other && `of ${other}`;
}
