/**
 * Packets that the port of a pod must never send: messages by which it would become the router, the DHCP server or the multicast router of
 * others, and frames for the next bridge. An interface → matches of packets to drop. Pure.
 *
 * OVN's ACLs cannot do this: in a switch with a load balancer or a stateful ACL, OVN lets every router advertisement pass before it evaluates
 * them (ADR 24).
 */
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp, familyOf } from '../../lib/net/ip.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Subnet } from '../model/subnet.ts';
import type { PacketMatch, PortRules } from '../model/packet-match.ts';

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
  // Cisco: CDP, VTP, DTP, PVST+.
  { ethernetDestination: { mac: '01:00:0c:00:00:00', mask: 'ff:ff:ff:00:00:00' } },
  { etherType: etherType.lldp },
];

const linkLocal = { address: 'fe80::', mask: 'ffc0::' } as const;
const linkMulticast = { address: 'ff02::', mask: 'ffff::' } as const;

function igmpTo(address: string, mask = '255.255.255.255'): PacketMatch {
  return { ...ipv4, ipProtocol: protocol.igmp, ipv4Destination: { address, mask } };
}

/**
 * Switches with IGMP snooping, including OVN's, send all multicast to a port that sends one of these, and hosts answer them. OpenFlow cannot
 * match the IGMP type, but reports are never sent to these destinations.
 */
const ofMulticastRouters: readonly PacketMatch[] = [
  // General queries, DVMRP, advertisements of RFC 4286.
  ...['224.0.0.1', '224.0.0.4', '224.0.0.106'].map((group) => igmpTo(group)),
  // Everything that is not a group address.
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
  // DHCP clients check the destination port, not the source port.
  { ...ipv4, ipProtocol: protocol.udp, udpDestination: 68 },
  { ...ipv6, ipProtocol: protocol.udp, udpDestination: 546 },
  // A first fragment that ends before its ports; no valid sender makes one (RFC 7112). First fragments of IPv4 have at least eight bytes.
  { ...ipv6, ipProtocol: protocol.udp, fragment: 'first', udpDestination: 0 },
  // Neighbour discovery and MLD are never fragmented (RFC 6980), and come from link-local addresses.
  { ...ipv6, fragment: 'any', ipv6Source: linkLocal },
  { ...ipv6, fragment: 'any', ipv6Destination: linkLocal },
  { ...ipv6, fragment: 'any', ipv6Destination: linkMulticast },
  // IPv6 that ends before its upper-layer header, for which Open vSwitch has protocol 0; it is invalid (RFC 7112).
  { ...ipv6, ipProtocol: protocol.none },
  ...ofMulticastRouters,
];

/** Packets that only the owner of the router's address sends. Port security prevents them as well; without it, at least this address stays protected. */
function asRouter(address: string): readonly PacketMatch[] {
  if (familyOf(address) === 4)
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
 * The packets that a port drops. `isRouter`: whether its pod may be a router and a DHCP server; `gateways`: addresses of the router of its
 * network. Equal guards get the same array; there are few different ones.
 */
export function droppedBy({ isRouter, gateways }: Guard): readonly PacketMatch[] {
  const key = isRouter ? 'router' : gateways.join();
  const known = matchesOf.get(key);
  if (known !== undefined) return known;
  const matches = isRouter ? toBridges : [...toBridges, ...ofRouters, ...gateways.flatMap(asRouter)];
  matchesOf.set(key, matches);
  return matches;
}

const dnsPort = 53;
const questions: readonly PacketMatch[] = [ipv4, ipv6].map((network) => ({
  ...network,
  ipProtocol: protocol.udp,
  udpDestination: dnsPort,
}));
const rulesOf = new Map<readonly PacketMatch[], Readonly<Record<'quiet' | 'copying', PortRules>>>();

/** What flows do with packets of a port: with `isCopying`, questions of DNS are copied to the daemon. Equal guards get the same object. */
export function portRules(guard: Guard, isCopying: boolean): PortRules {
  const drops = droppedBy(guard);
  const known = rulesOf.get(drops) ?? { quiet: { drops, copies: [] }, copying: { drops, copies: questions } };
  rulesOf.set(drops, known);
  return isCopying ? known.copying : known.quiet;
}

export interface Guard {
  readonly isRouter: boolean;
  readonly gateways: readonly string[];
}

/** For an interface without any information. */
export const unknownGuard: Guard = { isRouter: false, gateways: [] };

export interface GuardInput {
  readonly sandbox: Sandbox;
  /** The pod of the sandbox; undefined if it is gone. */
  readonly pod: Pod | undefined;
  readonly subnets: readonly Subnet[];
}

/**
 * Only a Subnet names the namespaces of its routers. The annotations of the pod name the Subnet as long as the controller vouches for them;
 * the author of the pod may write annotations at any time, so the Subnet must also contain the addresses that the pod was given.
 */
export function guardOf({ sandbox, pod, subnets }: GuardInput): Guard {
  if (sandbox.ips.length === 0) return unknownGuard;
  const network = pod?.interfaces.get(sandbox.provider)?.network;
  const name = typeof network === 'object' ? network.subnet : undefined;
  // There may be more than one, because VPCs may have the same network.
  const possible = subnets.filter((subnet) => isGuardedBy(subnet, sandbox));
  const own = possible.find((subnet) => subnet.name === name);
  const leave = own?.routerNamespaces ?? [];
  // Without a vouched Subnet, the gateways of all possible ones count; but the pod may always use its own address.
  const gateways = (own === undefined ? possible : [own]).flatMap((subnet) => subnet.gateways);
  return {
    isRouter: leave.some((one) => one === '*' || one === sandbox.podNamespace),
    gateways: [...new Set(gateways)].filter((one) => !sandbox.ips.includes(one)).toSorted(),
  };
}

/** Whether the guard of a sandbox reads the Subnet. */
export function isGuardedBy(subnet: Subnet, { ips }: Sandbox): boolean {
  return ips.every((ip) => isIn(subnet, ip));
}

function isIn({ networks }: Subnet, address: string): boolean {
  const ip = parseIp(address);
  return networks.some((text) => {
    const cidr = parseCidr(text);
    return cidr !== undefined && ip !== undefined && cidrContains(cidr, ip);
  });
}
