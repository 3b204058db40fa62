/**
 * Node and subnets → the complete host network Isthmus wants of this node. Pure: same input, same output.
 * Called at start and after each change of the node or a subnet; host/ makes the kernel agree. Whatever is not in
 * the returned value is taken out of the kernel where it is ours, so a plan must always return everything.
 */
import { nodeInterface } from '../../lib/api/names.ts';
import type { NodeFacts, SubnetFacts } from '../state/facts.ts';
import { planRuleset } from './ruleset.ts';

export interface HostLink {
  /** Made by Open vSwitch; this sets its properties. */
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  /** `100.64.0.2/16`; any other address on the link goes. */
  readonly addresses: readonly string[];
}

export interface HostRoute {
  readonly destination: string;
  readonly gateway: string;
  readonly device: string;
  readonly source: string;
}

export interface HostNetwork {
  readonly links: readonly HostLink[];
  readonly routes: readonly HostRoute[];
  /** Chains and sets of our nftables table, in nft's own language. */
  readonly ruleset: string;
  /** Path below /proc/sys → value. */
  readonly sysctls: Readonly<Record<string, string>>;
}

export interface HostInput {
  readonly node: NodeFacts | undefined;
  readonly subnets: readonly SubnetFacts[];
  /** Of ovn0. */
  readonly mtu: number;
}

export function planHostNetwork({ node, subnets, mtu }: HostInput): HostNetwork {
  const network = node?.network;
  const ordered = subnets.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (network === undefined || typeof network === 'string') {
    // Without an address of its own the node can neither route to pods nor translate for them.
    return { links: [], routes: [], ruleset: planRuleset([], []), sysctls: {} };
  }
  const link: HostLink = {
    name: nodeInterface,
    mac: network.mac,
    mtu,
    addresses: network.addresses.map(({ ip, prefix }) => `${ip}/${prefix}`),
  };
  return {
    links: [link],
    routes: ordered.flatMap((subnet) => routesTo(subnet, network.addresses)),
    ruleset: planRuleset(ordered, network.networks),
    sysctls: {
      'net/ipv4/ip_forward': '1',
      ...(network.addresses.some(({ ip }) => ip.includes(':')) ? { 'net/ipv6/conf/all/forwarding': '1' } : {}),
    },
  };
}

function routesTo(
  subnet: SubnetFacts,
  addresses: readonly { readonly ip: string; readonly gateway: string | undefined }[],
): readonly HostRoute[] {
  return subnet.networks.flatMap((destination) => {
    const own = addresses.find(({ ip }) => ip.includes(':') === destination.includes(':'));
    return own?.gateway === undefined
      ? []
      : [{ destination, gateway: own.gateway, device: nodeInterface, source: own.ip }];
  });
}
