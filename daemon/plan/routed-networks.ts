/**
 * ProviderNetworks that the node routes to → their bridges, which have the gateway addresses of the Subnets, and rules for what comes in by them. Pure.
 *
 * Routers of VPCs send packets that no rule translates as they are. Addresses of VPCs may be those of pods, nodes or anything else, so a packet from
 * another source than the Subnets would pass for one of theirs. Answers would not get back anyway.
 */
import { providerBridge } from '../../lib/api/names.ts';
import { cidrContains, cidrsOverlap, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, familyOf, formatIp, parseIp } from '../../lib/net/ip.ts';
import type { HostLink, LinkNetwork } from '../model/host-network.ts';
import type { Subnet } from '../model/subnet.ts';
import { outermost, words } from './ruleset.ts';
import type { SubnetProblem } from './subnet-problem.ts';

export interface RoutedInput {
  /** ProviderNetworks to whose bridges the node routes. */
  readonly routedNetworks: ReadonlySet<string>;
  readonly subnets: readonly Subnet[];
  /** Networks on the node's links. */
  readonly connected?: readonly LinkNetwork[];
}

export interface RoutedPlan {
  readonly links: readonly HostLink[];
  /** A chain of the table; empty if there are no such networks. */
  readonly chain: readonly string[];
  readonly problems: readonly SubnetProblem[];
}

export function planRoutedNetworks({ routedNetworks, subnets, connected = [] }: RoutedInput, node: string): RoutedPlan {
  const networks = [...routedNetworks].toSorted();
  const bridges = new Set(networks.map(providerBridge));
  const others = connected.filter(({ link }) => !bridges.has(link));
  const problems: SubnetProblem[] = [];
  const links = networks.map((network): HostLink => {
    const own = subnets.filter((subnet) => isOf(subnet, network)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return {
      name: providerBridge(network),
      mac: undefined,
      mtu: undefined,
      addresses: own.flatMap((subnet) => gatewayAddresses(subnet, { others, node, problems })),
      isMirror: false,
      hasForeignSources: false,
      network,
    };
  });
  return { links, chain: planChain(links), problems };
}

/** Networks of Subnets that a wire does not lead to, but the nodes themselves. */
export function networksByNodes(subnets: readonly Subnet[]): readonly string[] {
  return subnets.filter(({ underlay }) => underlay?.routing === 'nodes').flatMap(({ networks }) => networks);
}

function isOf({ underlay }: Subnet, network: string): boolean {
  return underlay?.provider === network && underlay.routing === 'nodes';
}

interface Surroundings {
  readonly others: readonly LinkNetwork[];
  readonly node: string;
  readonly problems: SubnetProblem[];
}

function gatewayAddresses(
  { name, networks, gateways }: Subnet,
  { others, node, problems }: Surroundings,
): readonly string[] {
  return networks.flatMap((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) return [];
    const rival = others.find(({ network }) => {
      const other = parseCidr(network);
      return other !== undefined && cidrsOverlap(cidr, other);
    });
    if (rival !== undefined) {
      // A route to a part of the network of a link would cut the node off from that part, be it the default gateway.
      const message = `node ${node} has ${rival.network} on interface ${rival.link}, which overlaps ${text}: it does not route to the Subnet; choose a CIDR that no interface of a node is in`;
      problems.push({ subnet: name, code: 'NodeNetworkOverlap', message });
      return [];
    }
    return gateways.flatMap((gateway) => {
      const ip = parseIp(gateway);
      return ip !== undefined && cidrContains(cidr, ip) ? [`${formatIp(ip)}/${cidr.prefix}`] : [];
    });
  });
}

function planChain(links: readonly HostLink[]): readonly string[] {
  if (links.length === 0) return [];
  return [
    'chain outside {',
    '  type filter hook prerouting priority raw; policy accept;',
    ...links.flatMap(({ name, addresses }) => {
      const networks = addresses.flatMap((address) => networkOf(address) ?? []);
      const from = `  iifname "${name}"`;
      return ([4, 6] as const).map((family) => {
        const sources = outermost([
          ...networks.filter((network) => familyOf(network) === family),
          // Routers look for their neighbours from such addresses.
          ...(family === 6 ? ['fe80::/10'] : []),
        ]);
        const { header, protocol } = words[family];
        return sources.length === 0
          ? `${from} meta nfproto ${protocol} drop`
          : `${from} ${header} saddr != { ${sources.join(', ')} } drop`;
      });
    }),
    '}',
  ];
}

/** `172.30.1.0/24` of `172.30.1.11/24`; undefined for a single address, which is no network. */
function networkOf(address: string): string | undefined {
  const cidr = parseCidr(address);
  return cidr === undefined || cidr.prefix === bitsOf(cidr.family) ? undefined : formatCidr(cidr);
}
