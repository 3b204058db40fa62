/**
 * Plans the complete host network of this node from its Node and the Subnets. Pure. host/ applies the value to the kernel, and removes everything
 * of the daemon that is not in the value, so a plan must always return everything.
 */
import { nodeInterface } from '../../lib/api/names.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import { planForwarding, type ForwardingInput } from './forwarding.ts';
import { planPolicyRouting } from './policy-routing.ts';
import type { HostLink, HostNetwork, HostRoute } from '../model/host-network.ts';
import { checkMtu } from './pod-mtu.ts';
import { planRuleset } from './ruleset.ts';
import type { SubnetProblem } from './subnet-problem.ts';

export interface HostInput {
  readonly node: Node | undefined;
  readonly subnets: readonly Subnet[];
  /** MTU of ovn0. */
  readonly mtu: number;
  /** Addresses of the node's interfaces. */
  readonly addresses: readonly string[];
  /** Addresses of other nodes. */
  readonly otherNodes: readonly string[];
  /** Name of the mirror's output interface; empty for none. */
  readonly mirrorInterface: string;
  readonly forwarding: ForwardingInput;
  /** Whether the node serves Services, for which ovn0 has further addresses. */
  readonly hasServices: boolean;
}

export interface HostPlan {
  readonly network: HostNetwork;
  readonly problems: readonly SubnetProblem[];
}

export function planHostNetwork(input: HostInput): HostPlan {
  const { node, subnets, mtu } = input;
  const network = node?.network;
  const links = mirrorLink(input);
  if (node === undefined || network === undefined || typeof network === 'string') {
    // Without an address on ovn0, the node can neither route to pods nor translate their addresses.
    const { text } = planRuleset({
      subnets: [],
      joinNetworks: [],
      node: undefined,
      addresses: new Set(),
      otherNodes: [],
    });
    return { network: { links, routes: [], tableRoutes: [], rules: [], ruleset: text, sysctls: {} }, problems: [] };
  }
  const ordered = subnets.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const routed = ordered.filter(({ isRouted }) => isRouted);
  const addresses = new Set(input.addresses.map(canonical));
  const ruleset = planRuleset({
    subnets: routed,
    joinNetworks: network.networks,
    node,
    addresses,
    otherNodes: input.otherNodes,
  });
  const policy = planPolicyRouting(routed, node);
  const own = [...network.networks, ...routed.flatMap(({ networks }) => networks)];
  const forwarding = planForwarding({ ...input.forwarding, network, own, addresses });
  const ovn0: HostLink = {
    name: nodeInterface,
    mac: network.mac,
    mtu,
    addresses: [
      ...network.addresses.map(({ ip, prefix }) => `${ip}/${prefix}`),
      // With full prefixes, so that the kernel does not choose them for packets of the node itself.
      ...(input.hasServices ? node.serviceAddresses.map((ip) => `${ip}/${ip.includes(':') ? 128 : 32}`) : []),
    ],
    isMirror: false,
    hasForeignSources: forwarding.routes.length > 0,
  };
  return {
    network: {
      links: [ovn0, ...links],
      routes: [...routed.flatMap((subnet) => routesTo(subnet, network.addresses)), ...forwarding.routes],
      tableRoutes: policy.routes,
      rules: [...policy.rules, ...forwarding.rules],
      ruleset: ruleset.text,
      sysctls: {
        'net/ipv4/ip_forward': '1',
        ...(network.addresses.some(({ ip }) => ip.includes(':')) ? { 'net/ipv6/conf/all/forwarding': '1' } : {}),
      },
    },
    problems: [
      ...ordered.flatMap((subnet) => problemsOf(subnet, mtu, node.name)),
      ...ruleset.problems,
      ...policy.problems,
    ],
  };
}

function canonical(address: string): string {
  const ip = parseIp(address);
  return ip === undefined ? address : formatIp(ip);
}

function mirrorLink({ mirrorInterface }: HostInput): readonly HostLink[] {
  if (mirrorInterface === '') return [];
  return [
    { name: mirrorInterface, mac: undefined, mtu: undefined, addresses: [], isMirror: true, hasForeignSources: false },
  ];
}

function problemsOf(subnet: Subnet, mtu: number, node: string): readonly SubnetProblem[] {
  const tooLarge = checkMtu(subnet, mtu, node);
  const problems = tooLarge === undefined ? subnet.problems : [...subnet.problems, tooLarge];
  return problems.map((problem) => ({ ...problem, subnet: subnet.name }));
}

function routesTo(
  subnet: Subnet,
  addresses: readonly { readonly ip: string; readonly gateway: string | undefined }[],
): readonly HostRoute[] {
  return subnet.networks.flatMap((destination) => {
    const own = addresses.find(({ ip }) => ip.includes(':') === destination.includes(':'));
    return own?.gateway === undefined
      ? []
      : [{ destination, gateway: own.gateway, device: nodeInterface, source: own.ip, table: undefined }];
  });
}
