/**
 * Prefixes of other clusters → routes into the overlay for forwarded packets, on nodes whose speaker may have announced these prefixes. Pure.
 * The routes are in a table of their own, and two kinds of packets must not use it:
 *   packets of the node itself, because other clusters have no route back to its join address;
 *   packets from the overlay, because its router knows the prefix and has sent them here anyway: they would loop.
 */
import { defaultVpc, nodeInterface } from '../../lib/api/names.ts';
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp, type Family, familyOf } from '../../lib/net/ip.ts';
import { PrefixCover } from '../../lib/net/prefix-cover.ts';
import { specialUse } from '../../lib/net/special-use.ts';
import type { InterfaceNetwork } from '../model/address.ts';
import { forwardingTable, type RemoteRoute } from '../model/interconnect.ts';
import type { HostPart, HostRoute, HostRule } from '../model/host-network.ts';

export interface ForwardingInput {
  /** Whether the node has a BgpNodeState. */
  readonly isSpeaker: boolean;
  /** Transit switch → the VPC that it joins. The node only routes into the default VPC. */
  readonly vpcs: ReadonlyMap<string, string>;
  /** A list for each remote cluster. */
  readonly remotes: readonly (readonly RemoteRoute[])[];
}

export interface ForwardingFacts extends ForwardingInput {
  readonly network: InterfaceNetwork;
  /** Networks that the node routes into the overlay in any case, and the join networks. */
  readonly own: readonly string[];
  /** Addresses of the node's interfaces. */
  readonly addresses: ReadonlySet<string>;
}

export interface Forwarding {
  readonly part: HostPart;
  readonly rules: readonly HostRule[];
}

/** Just before the main table (32766), and after rules that an administrator adds. */
const priorities = { fromOverlay: 32_700, others: 32_701, end: 32_702 } as const;

export function planForwarding(facts: ForwardingFacts): Forwarding {
  const routes = facts.isSpeaker ? routesOf(facts) : [];
  const families = ([4, 6] as const).filter((family) =>
    routes.some(({ destination }) => familyOf(destination) === family),
  );
  return { part: { routes, elements: [] }, rules: families.flatMap(rulesOf) };
}

function routesOf({ network, own, addresses, vpcs, remotes }: ForwardingFacts): readonly HostRoute[] {
  const here = remotes.flat().filter(({ transitSwitch }) => vpcs.get(transitSwitch) === defaultVpc);
  if (here.length === 0) return [];
  const cover = new PrefixCover();
  for (const text of own) {
    const cidr = parseCidr(text);
    if (cidr !== undefined) cover.add(cidr, text);
  }
  const ips = [...addresses].flatMap((text) => parseIp(text) ?? []);
  return [...new Set(here.map(({ prefix }) => prefix))].toSorted().flatMap((destination): HostRoute[] => {
    const cidr = parseCidr(destination);
    if (cidr === undefined || specialUse(cidr) !== undefined || cover.coverOf(cidr) !== undefined) return [];
    // Routes to the links of the node are in the main table, which would not be looked up.
    if (ips.some((ip) => cidrContains(cidr, ip))) return [];
    const gateway = network.addresses.find(({ ip }) => familyOf(ip) === cidr.family)?.gateway;
    if (gateway === undefined) return [];
    return [{ destination, gateway, device: nodeInterface, source: undefined, table: forwardingTable }];
  });
}

/** In the order in which they are added: the rule that keeps packets from the overlay out of the table comes before the one that leads to it. */
function rulesOf(family: Family): readonly HostRule[] {
  const any = { family, source: undefined, subnet: undefined };
  const { fromOverlay, others, end } = priorities;
  return [
    { ...any, priority: end, device: undefined, isInverted: false, action: 'nop', target: 0 },
    { ...any, priority: fromOverlay, device: nodeInterface, isInverted: false, action: 'goto', target: end },
    { ...any, priority: others, device: 'lo', isInverted: true, action: 'lookup', target: forwardingTable },
  ];
}
