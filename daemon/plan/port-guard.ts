/**
 * What a pod's port never passes: messages by which somebody becomes the router, the DHCP server or the multicast router of others,
 * and frames that end at the next bridge. In: what is known of an interface. Out: matches of packets to drop. Pure.
 *
 * It is not left to OVN's ACLs: with a load balancer or a stateful ACL in a switch, OVN passes every router advertisement before
 * it looks at them (ADR 24).
 */
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Subnet } from '../model/subnet.ts';
import type { PacketMatch } from '../model/packet-match.ts';

const etherType = { ipv4: 0x0800, arp: 0x0806, ipv6: 0x86dd, lldp: 0x88cc } as const;
const protocol = { none: 0, icmp4: 1, igmp: 2, udp: 17, icmp6: 58, pim: 103 } as const;
const ipv4 = { etherType: etherType.ipv4 } as const;
const ipv6 = { etherType: etherType.ipv6 } as const;
const icmp6 = { ...ipv6, ipProtocol: protocol.icmp6 } as const;

const toBridges: readonly PacketMatch[] = [
  { isTagged: true },
  // IEEE 802.1Q tables 8-1 and 10-1: STP, pause frames, LACP, 802.1X, LLDP; registration of VLANs and groups.
  { ethernetDestination: { mac: '01:80:c2:00:00:00', mask: 'ff:ff:ff:ff:ff:f0' } },
  { ethernetDestination: { mac: '01:80:c2:00:00:20', mask: 'ff:ff:ff:ff:ff:f0' } },
  // Cisco's: CDP, VTP, DTP, PVST+.
  { ethernetDestination: { mac: '01:00:0c:00:00:00', mask: 'ff:ff:ff:00:00:00' } },
  { etherType: etherType.lldp },
];

const linkLocal = { address: 'fe80::', mask: 'ffc0::' } as const;
const linkMulticast = { address: 'ff02::', mask: 'ffff::' } as const;

function igmpTo(address: string, mask = '255.255.255.255'): PacketMatch {
  return { ...ipv4, ipProtocol: protocol.igmp, ipv4Destination: { address, mask } };
}

/**
 * Switches that look into IGMP, OVN's among them, send all multicast to the port that one of these came by; and hosts answer it. OpenFlow
 * has no type of IGMP, but reports go nowhere of these.
 */
const ofMulticastRouters: readonly PacketMatch[] = [
  // General queries, DVMRP, advertisements of RFC 4286.
  ...['224.0.0.1', '224.0.0.4', '224.0.0.106'].map((group) => igmpTo(group)),
  // Whatever is no group.
  igmpTo('0.0.0.0', '128.0.0.0'),
  igmpTo('128.0.0.0', '192.0.0.0'),
  igmpTo('192.0.0.0', '224.0.0.0'),
  igmpTo('240.0.0.0', '240.0.0.0'),
  { ...icmp6, icmp6Type: 130 },
  { ...icmp6, icmp6Type: 151 },
  { ...ipv4, ipProtocol: protocol.pim },
  { ...ipv6, ipProtocol: protocol.pim },
];

const ofRouters: readonly PacketMatch[] = [
  // Redirects, and router advertisements of RFC 1256.
  { ...ipv4, ipProtocol: protocol.icmp4, icmp4Type: 5 },
  { ...ipv4, ipProtocol: protocol.icmp4, icmp4Type: 9 },
  { ...icmp6, icmp6Type: 134 },
  { ...icmp6, icmp6Type: 137 },
  // Clients look at the port they listen on, not at the one it came from.
  { ...ipv4, ipProtocol: protocol.udp, udpDestination: 68 },
  { ...ipv6, ipProtocol: protocol.udp, udpDestination: 546 },
  // A first piece that ends before its ports, for which nobody has a reason (RFC 7112). That of IPv4 has eight bytes at the least.
  { ...ipv6, ipProtocol: protocol.udp, fragment: 'first', udpDestination: 0 },
  // Neighbour discovery and MLD are never in pieces (RFC 6980), and come from link-local addresses.
  { ...ipv6, fragment: 'any', ipv6Source: linkLocal },
  { ...ipv6, fragment: 'any', ipv6Destination: linkLocal },
  { ...ipv6, fragment: 'any', ipv6Destination: linkMulticast },
  // IPv6 that ends before it says what it is, for which Open vSwitch has 0; nobody may send that (RFC 7112).
  { ...ipv6, ipProtocol: protocol.none },
  ...ofMulticastRouters,
];

/** What only the owner of a router's address sends: with port security a pod cannot, without it this one address stays the router's. */
function asRouter(address: string): readonly PacketMatch[] {
  if (!address.includes(':'))
    return [
      { etherType: etherType.arp, arpSender: address },
      { ...ipv4, ipv4Source: address },
    ];
  const whole = { address, mask: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff' };
  return [
    { ...icmp6, icmp6Type: 136, neighbourTarget: address },
    { ...ipv6, ipv6Source: whole },
  ];
}

const matchesOf = new Map<string, readonly PacketMatch[]>();

/**
 * What a port drops of what comes in by it. `isRouter`: whether its pod may be a router and a DHCP server; `gateways`: addresses of the
 * router of its network. The same array for the same: which are few.
 */
export function droppedBy({ isRouter, gateways }: Guard): readonly PacketMatch[] {
  const key = isRouter ? 'router' : gateways.join();
  const known = matchesOf.get(key);
  if (known !== undefined) return known;
  const matches = isRouter ? toBridges : [...toBridges, ...ofRouters, ...gateways.flatMap(asRouter)];
  matchesOf.set(key, matches);
  return matches;
}

export interface Guard {
  readonly isRouter: boolean;
  readonly gateways: readonly string[];
}

/** Of an interface of which nothing is known. */
export const unknownGuard: Guard = { isRouter: false, gateways: [] };

export interface GuardInput {
  readonly sandbox: Sandbox;
  /** The pod of the sandbox; undefined where it is gone. */
  readonly pod: Pod | undefined;
  readonly subnets: readonly Subnet[];
}

/**
 * Only a Subnet says which namespaces have its routers. The annotations of the pod name the Subnet while the controller vouches for them, and the
 * addresses that the pod was given decide which it can be: its author may write annotations at any time.
 */
export function guardOf({ sandbox, pod, subnets }: GuardInput): Guard {
  if (sandbox.ips.length === 0) return unknownGuard;
  const network = pod?.interfaces.get(sandbox.provider)?.network;
  const name = typeof network === 'object' ? network.subnet : undefined;
  // More than one where VPCs have the same network.
  const possible = subnets.filter((subnet) => sandbox.ips.every((ip) => isIn(subnet, ip)));
  const own = possible.find((subnet) => subnet.name === name);
  const leave = own?.routerNamespaces ?? [];
  // Of all that it can be where nobody vouches for one; but the pod's own address is its own.
  const gateways = (own === undefined ? possible : [own]).flatMap((subnet) => subnet.gateways);
  return {
    isRouter: leave.some((one) => one === '*' || one === sandbox.podNamespace),
    gateways: [...new Set(gateways)].filter((one) => !sandbox.ips.includes(one)).toSorted(),
  };
}

function isIn({ networks }: Subnet, address: string): boolean {
  const ip = parseIp(address);
  return networks.some((text) => {
    const cidr = parseCidr(text);
    return cidr !== undefined && ip !== undefined && cidrContains(cidr, ip);
  });
}
