/**
 * Subnets → the nftables rules for traffic that leaves the cluster through this node. Pure.
 *
 * Outgoing NAT: a pod of a natOutgoing subnet that talks to an address of no subnet appears with the node's address.
 * The nat hook sees the first packet of a connection only. A TCP packet that opens none but is first here belongs to a
 * connection that came in by another node (equal-cost routes of a router): translating it would break it.
 */
import type { SubnetFacts } from '../state/facts.ts';

/** Body of the table; `joinNetworks` are those of the nodes' own ovn0 addresses. */
export function planRuleset(subnets: readonly SubnetFacts[], joinNetworks: readonly string[]): string {
  const cluster = [...joinNetworks, ...subnets.flatMap(({ networks }) => networks)];
  const natted = subnets.filter(({ isNatOutgoing }) => isNatOutgoing).flatMap(({ networks }) => networks);
  return [
    ...renderSet('cluster4', 'ipv4_addr', cluster.filter(isV4)),
    ...renderSet('cluster6', 'ipv6_addr', cluster.filter(isV6)),
    ...renderSet('nat4', 'ipv4_addr', natted.filter(isV4)),
    ...renderSet('nat6', 'ipv6_addr', natted.filter(isV6)),
    'chain outgoing {',
    '  tcp flags & (fin | syn | rst | ack) != syn return',
    '  masquerade fully-random',
    '}',
    'chain postrouting {',
    '  type nat hook postrouting priority srcnat; policy accept;',
    '  ip saddr @nat4 ip daddr != @cluster4 jump outgoing',
    '  ip6 saddr @nat6 ip6 daddr != @cluster6 jump outgoing',
    '}',
    '',
  ].join('\n');
}

function isV4(network: string): boolean {
  return !network.includes(':');
}

function isV6(network: string): boolean {
  return network.includes(':');
}

function renderSet(name: string, type: string, elements: readonly string[]): readonly string[] {
  const unique = [...new Set(elements)].toSorted();
  return [
    `set ${name} {`,
    `  type ${type}; flags interval; auto-merge;`,
    ...(unique.length === 0 ? [] : [`  elements = { ${unique.join(', ')} }`]),
    '}',
  ];
}
