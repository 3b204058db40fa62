/**
 * Plans the complete host network of this node from its Node and the Subnets. Pure. host/ applies the value to the kernel, and removes everything
 * of the daemon that is not in the value, so a plan must always return everything.
 */
import { nodeInterface } from '../../lib/api/names.ts';
import { formatIp, parseIp, familyOf, bitsOf } from '../../lib/net/ip.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import { planForwarding, type Forwarding, type ForwardingFacts, type ForwardingInput } from './forwarding.ts';
import { planPolicyRouting } from './policy-routing.ts';
import type { InterfaceNetwork } from '../model/address.ts';
import type { HostLink, HostNetwork, HostPart, HostRoute, LinkNetwork } from '../model/host-network.ts';
import { checkMtu } from './pod-mtu.ts';
import { networksByNodes, planRoutedNetworks } from './routed-networks.ts';
import { elementsOf, planRuleset, planSubnetNat, type SubnetNat } from './ruleset.ts';
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
  /** ProviderNetworks to whose bridges the node routes. */
  readonly routedNetworks: ReadonlySet<string>;
  /** Networks on the node's links. */
  readonly connected?: readonly LinkNetwork[];
}

export interface HostPlan {
  readonly network: HostNetwork;
  readonly problems: readonly SubnetProblem[];
}

/** What the plan of each Subnet depends on, besides the Subnet. */
export interface SubnetFacts {
  readonly node: Node;
  readonly network: InterfaceNetwork;
  readonly mtu: number;
  /** Addresses of the node's interfaces. */
  readonly addresses: ReadonlySet<string>;
}

export interface SubnetPlan {
  /** Undefined if the node does not route to the Subnet. */
  readonly part: HostPart | undefined;
  readonly special: SubnetNat['special'];
  readonly problems: readonly SubnetProblem[];
}

/**
 * @param planOf has the result of `planSubnet`, the same value as long as the Subnet and the facts are the same
 * @param forwardingOf has the result of `planForwarding`, the same value as long as the facts are the same
 */
export function planHostNetwork(
  input: HostInput,
  planOf: (subnet: Subnet, facts: SubnetFacts) => SubnetPlan = planSubnet,
  forwardingOf: (facts: ForwardingFacts) => Forwarding = planForwarding,
): HostPlan {
  const { node, subnets, mtu } = input;
  const network = node?.network;
  const outside = planRoutedNetworks(input, node?.name ?? '');
  const links = [...mirrorLink(input), ...outside.links];
  if (node === undefined || network === undefined || typeof network === 'string') {
    // Without an address on ovn0, the node can neither route to pods nor translate their addresses.
    const ruleset = planRuleset([], false, outside.chain);
    return {
      network: { frame: { links, tableRoutes: [], rules: [], ruleset, sysctls: {} }, parts: new Map() },
      problems: outside.problems,
    };
  }
  const addresses = new Set(input.addresses.map(canonical));
  const facts = { node, network, mtu, addresses };
  const planned = subnets.map((subnet) => ({ subnet, plan: planOf(subnet, facts) }));
  const routed = subnets.filter(({ isRouted }) => isRouted);
  const policy = planPolicyRouting(routed, node);
  const own = [...network.networks, ...routed.flatMap(({ networks }) => networks)];
  const forwarding = forwardingOf({
    ...input.forwarding,
    network,
    own: [...own, ...networksByNodes(subnets)],
    addresses,
  });
  const ovn0: HostLink = {
    name: nodeInterface,
    mac: network.mac,
    mtu,
    addresses: [
      ...network.addresses.map(({ ip, prefix }) => `${ip}/${prefix}`),
      // With full prefixes, so that the kernel does not choose them for packets of the node itself.
      ...(input.hasServices ? node.serviceAddresses.map((ip) => `${ip}/${bitsOf(familyOf(ip))}`) : []),
    ],
    isMirror: false,
    hasForeignSources: forwarding.part.routes.length > 0,
  };
  const hasIpv6 = [ovn0, ...outside.links].some((link) => link.addresses.some((address) => familyOf(address) === 6));
  const special = planned.filter(({ plan }) => plan.special !== undefined).toSorted(bySubnet);
  const ofNode = [...elementsOf('cluster', network.networks), ...elementsOf('nodes', input.otherNodes)];
  return {
    network: {
      frame: {
        links: [ovn0, ...links],
        tableRoutes: policy.routes,
        rules: [...policy.rules, ...forwarding.rules],
        ruleset: planRuleset(
          special.flatMap(({ plan }) => plan.special ?? []),
          true,
          outside.chain,
        ),
        sysctls: {
          'net/ipv4/ip_forward': '1',
          ...(hasIpv6 ? { 'net/ipv6/conf/all/forwarding': '1' } : {}),
        },
      },
      parts: new Map([
        ['node', { routes: [], elements: ofNode }],
        ['other clusters', forwarding.part],
        ...planned.flatMap(({ subnet: { name }, plan: { part } }) =>
          part === undefined ? [] : [[`subnet ${name}`, part] as const],
        ),
      ]),
    },
    problems: [
      ...planned.toSorted(bySubnet).flatMap(({ plan }) => plan.problems),
      ...policy.problems,
      ...outside.problems,
    ],
  };
}

export function planSubnet(subnet: Subnet, { node, network, mtu, addresses }: SubnetFacts): SubnetPlan {
  const problems = problemsOf(subnet, mtu, node.name);
  if (!subnet.isRouted) return { part: undefined, special: undefined, problems };
  const nat = planSubnetNat(subnet, node, addresses);
  return {
    part: { routes: routesTo(subnet, network.addresses), elements: nat.elements },
    special: nat.special,
    problems: [...problems, ...nat.problems],
  };
}

function bySubnet(a: { readonly subnet: Subnet }, b: { readonly subnet: Subnet }): number {
  return a.subnet.name < b.subnet.name ? -1 : 1;
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
    const own = addresses.find(({ ip }) => familyOf(ip) === familyOf(destination));
    return own?.gateway === undefined
      ? []
      : [{ destination, gateway: own.gateway, device: nodeInterface, source: own.ip, table: undefined }];
  });
}
