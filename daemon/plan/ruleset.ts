/**
 * Subnets → the nftables rules for traffic between the cluster and the outside over this node. Pure.
 *
 * Outgoing NAT: packets of a pod in a natOutgoing subnet to an address outside all subnets get the address of the node. The nat hook only
 * sees the first packet of a connection. A TCP packet that is first here but does not open a connection belongs to one that came in over
 * another node (equal-cost routes of a router); translating it would break that connection.
 *
 * Incoming NAT: this node forwards a connection to a pod (for a hostPort or a nodePort). If the client is another node or a pod, the pod
 * would answer it directly, past this node. So the connection gets the node's own address in the overlay, and the answer returns here.
 *
 * No tracking: if a connection comes to a pod over another node and its answers leave over this one, each node sees half of it. Its
 * conntrack calls the packets invalid, and kube-proxy drops invalid packets, so they are not tracked here.
 *
 * Subnets with NAT rules of their own, or with an address of their own on this node, have a chain; the others share one.
 */
import { nodeInterface } from '../../lib/api/names.ts';
import { cidrContains, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, type Family, familyOf } from '../../lib/net/ip.ts';
import type { HostElement } from '../model/host-network.ts';
import type { NatRule, Subnet } from '../model/subnet.ts';
import type { Node } from '../model/node.ts';
import { linkNetwork } from '../model/gate.ts';
import { ownAddressesOf } from './subnet-gateway.ts';
import type { SubnetProblem } from './subnet-problem.ts';

export interface SubnetNat {
  readonly elements: readonly HostElement[];
  /** Present if the subnet has a chain of its own. */
  readonly special: SpecialNat | undefined;
  readonly problems: readonly SubnetProblem[];
}

interface SpecialNat {
  readonly chain: readonly string[];
  readonly jumps: readonly string[];
}

const families = [4, 6] as const;
/** Terms of nft for each family. */
export const words = { 4: { header: 'ip', protocol: 'ipv4' }, 6: { header: 'ip6', protocol: 'ipv6' } } as const;
const notFirst = '  tcp flags & (fin | syn | rst | ack) != syn return';
const masquerade = 'masquerade fully-random';
/** Nothing beyond the node has a route to gates of VPCs. */
const fromGates = families.map((family) => `  ${words[family].header} saddr ${linkNetwork[family].cidr} ${masquerade}`);
/** Runs after conntrack (priority -200), and before any rule that uses its verdict. */
const untracked = [
  'chain halves {',
  '  type filter hook prerouting priority mangle; policy accept;',
  '  ct state != invalid return',
  // A late packet of a connection to a Service must not leave untranslated. In half of a connection such a packet is valid, because conntrack takes it for a first one.
  `  iifname "${nodeInterface}" tcp flags & (syn | rst | ack) == ack return`,
  `  iifname "${nodeInterface}" notrack`,
  '  ip daddr @cluster4 notrack',
  '  ip6 daddr @cluster6 notrack',
  '}',
];

/** What one Subnet adds to the table. @param addresses of this node's interfaces */
export function planSubnetNat(subnet: Subnet, node: Node, addresses: ReadonlySet<string>): SubnetNat {
  const problems: SubnetProblem[] = [];
  const cluster = elementsOf('cluster', subnet.networks);
  if (!subnet.isNatOutgoing) return { elements: cluster, special: undefined, problems };
  const own = usable(subnet, node, addresses, problems);
  if (subnet.natRules.length === 0 && own.length === 0)
    return { elements: [...cluster, ...elementsOf('nat', subnet.networks)], special: undefined, problems };
  const jumps = families.flatMap((family) => {
    const sources = ofFamily(subnet.networks, family);
    return sources.length === 0 ? [] : [jump(family, `{ ${sources.join(', ')} }`, chainOf(subnet))];
  });
  return { elements: cluster, special: { chain: renderChain({ subnet, own }), jumps }, problems };
}

/** Elements of the sets of both families whose names begin with `set`. Networks of one address may lack their prefix. */
export function elementsOf(set: string, networks: readonly string[]): readonly HostElement[] {
  return networks.flatMap((text) => {
    const family = familyOf(text);
    const cidr = parseCidr(text.includes('/') ? text : `${text}/${bitsOf(family)}`);
    return cidr === undefined ? [] : [{ set: `${set}${family}`, network: formatCidr(cidr) }];
  });
}

/**
 * Body of the table without elements, in the language of nft. @param hasRules whether this node has an address on ovn0
 * @param more further chains
 */
export function planRuleset(special: readonly SpecialNat[], hasRules: boolean, more: readonly string[] = []): string {
  const lines = [
    ...['cluster', 'nat', 'nodes'].flatMap((name) =>
      families.flatMap((family) => renderSet(`${name}${family}`, family)),
    ),
    'chain outgoing {',
    notFirst,
    `  ${masquerade}`,
    '}',
    ...special.flatMap(({ chain }) => chain),
    'chain postrouting {',
    '  type nat hook postrouting priority srcnat; policy accept;',
    ...(hasRules ? fromGates : []),
    ...families.flatMap((family) => ['cluster', 'nodes'].map((who) => directed(family, `@${who}${family}`))),
    ...families.map((family) => jump(family, `@nat${family}`, 'outgoing')),
    ...special.flatMap(({ jumps }) => jumps),
    '}',
    ...(hasRules ? untracked : []),
    ...more,
    '',
  ];
  return lines.join('\n');
}

interface Natted {
  readonly subnet: Subnet;
  /** Addresses to translate to; a family without one uses the address of the outgoing interface. */
  readonly own: readonly string[];
}

function usable(
  subnet: Subnet,
  node: Node,
  addresses: ReadonlySet<string>,
  problems: SubnetProblem[],
): readonly string[] {
  return ownAddressesOf(subnet, node).filter((address) => {
    if (addresses.has(address)) return true;
    const message = `spec.gatewayNode gives node ${node.name} the address ${address}, which no interface of the node has; until then, traffic of the subnet leaves with the node's own address`;
    problems.push({ subnet: subnet.name, code: 'GatewayAddressMissing', message });
    return false;
  });
}

function chainOf({ name }: Subnet): string {
  return `outgoing-${name}`;
}

function jump(family: Family, sources: string, chain: string): string {
  const { header } = words[family];
  return `  ${header} saddr ${sources} ${header} daddr != @cluster${family} jump ${chain}`;
}

function directed(family: Family, sources: string): string {
  return `  oifname "${nodeInterface}" ct status dnat ${words[family].header} saddr ${sources} ${masquerade}`;
}

function renderChain({ subnet, own }: Natted): readonly string[] {
  const present = families.filter((family) => ofFamily(subnet.networks, family).length > 0);
  const translate = (family: Family): string => {
    const [address] = ofFamily(own, family);
    return address === undefined ? masquerade : `snat ${words[family].header} to ${address} fully-random`;
  };
  return [
    `chain ${chainOf(subnet)} {`,
    notFirst,
    ...subnet.natRules.flatMap((rule) => present.flatMap((family) => renderRule(rule, family, translate(family)))),
    ...present.map((family) => `  meta nfproto ${words[family].protocol} ${translate(family)}`),
    '}',
  ];
}

/** Empty for a family that the addresses of the rule exclude. */
function renderRule({ sources, destinations, action }: NatRule, family: Family, translation: string): string[] {
  const matches = [`meta nfproto ${words[family].protocol}`];
  for (const [field, networks] of [
    ['saddr', sources],
    ['daddr', destinations],
  ] as const) {
    if (networks.length === 0) continue;
    const own = outermost(ofFamily(networks, family));
    if (own.length === 0) return [];
    matches.push(`${words[family].header} ${field} { ${own.join(', ')} }`);
  }
  return [`  ${matches.join(' ')} ${action === 'forward' ? 'accept' : translation}`];
}

function ofFamily(networks: readonly string[], family: Family): readonly string[] {
  return networks.filter((network) => familyOf(network) === family);
}

/** Removes networks that are inside another one, because nft refuses overlapping elements of an anonymous set. */
export function outermost(networks: readonly string[]): readonly string[] {
  const parsed = [...new Set(networks)].flatMap((text) => {
    const cidr = parseCidr(text);
    return cidr === undefined ? [] : [{ text, cidr }];
  });
  return parsed
    .filter(({ text, cidr }) =>
      parsed.every((other) => {
        const isInside = cidrContains(other.cidr, { family: cidr.family, value: cidr.network });
        return other.text === text || !isInside || other.cidr.prefix > cidr.prefix;
      }),
    )
    .map(({ text }) => text);
}

function renderSet(name: string, family: Family): readonly string[] {
  return [
    `set ${name} {`,
    // With `typeof`, because nft 1.0.6 of Debian 12 terminates on a set with `type` that nft 1.1 has written, and so does the one in kube-proxy.
    `  typeof ${words[family].header} saddr; flags interval;`,
    '}',
  ];
}
