/**
 * Decides for each ProviderNetwork whether this node joins it, and with which interface. Pure. It depends on history: of two networks that
 * want one interface, the one that has it keeps it, else the older one gets it; and a move that was rolled back is not repeated. A network
 * that cannot be joined is refused with a reason; the others are not affected.
 */
import { providerBridge, vendor } from '../../lib/api/names.ts';
import { providerNode } from '../../lib/api/provider-nodes.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { LocalBridges, NicMove, ProviderNetwork } from '../model/provider-network.ts';
import type { Nic, NicsByName } from '../model/nic.ts';

export interface UnderlayInput {
  readonly networks: readonly ProviderNetwork[];
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly nics: NicsByName;
  readonly ovs: LocalBridges;
  /** Recorded moves by network. */
  readonly moves: ReadonlyMap<string, NicMove>;
  /** MTU of pods on this node, in bytes. */
  readonly mtu: number;
}

export type Decision =
  /** The network is gone, or does not select this node. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly nic: string; readonly problem: Problem }
  /** `problem`: why joining it would be refused; `isRouted`: the node would route to it. */
  | {
      readonly kind: 'dryRun';
      readonly nic: string;
      readonly problem: Problem | undefined;
      readonly isRouted?: boolean;
    }
  /** No interface joins it: the node routes to its bridge, which has the MTU in bytes. */
  | { readonly kind: 'route'; readonly nic: string; readonly mtu: number }
  | { readonly kind: 'join'; readonly nic: string; readonly wish: string };

/** Bytes; the minimum MTU of IPv6, and OVN's own packets come close to it. */
const leastMtu = 1280;

export function decideNetwork(name: string, input: UnderlayInput): Decision {
  const network = input.networks.find((one) => one.name === name);
  if (network === undefined) return { kind: 'absent' };
  const { spec } = network;
  if (spec === undefined)
    return {
      kind: 'refused',
      nic: '',
      problem: {
        code: 'SpecInvalid',
        message: `spec of ProviderNetwork ${name} has neither a defaultInterface nor routedByNodes: set one`,
      },
    };
  const asked = providerNode({ network: { name, spec }, node: input.node });
  if ('absence' in asked) return { kind: 'absent' };
  const nic = asked.interface;
  if (spec.routedByNodes === true) return decideRouted(network, nic, input);
  const problem = refusal(network, nic, input);
  if (network.isDryRun) return { kind: 'dryRun', nic, problem };
  if (problem !== undefined) return { kind: 'refused', nic, problem };
  return { kind: 'join', nic, wish: wishOf(network, input.nics.get(nic)) };
}

function decideRouted(network: ProviderNetwork, nic: string, input: UnderlayInput): Decision {
  const problem = bridgeTaken(network, input);
  if (network.isDryRun) return { kind: 'dryRun', nic, problem, isRouted: true };
  // Packets of pods fit, and the kernel answers senders of longer ones.
  return problem === undefined ? { kind: 'route', nic, mtu: input.mtu } : { kind: 'refused', nic, problem };
}

/** Why no packet passes an interface that is in its bridge. The daemon does not set it up, because it may be down on purpose. */
export function linkProblem(nic: Nic | undefined, node: string): Problem | undefined {
  if (nic === undefined || (nic.isUp && nic.hasLink)) return undefined;
  const why = nic.isUp
    ? 'has no link: look at its cable and the port of its switch'
    : `is down: ip link set ${nic.name} up`;
  return { code: 'InterfaceDown', message: `interface ${nic.name} of node ${node} ${why}` };
}

/** Identifies the request: a rolled back move is tried again when this changes. */
function wishOf({ uid, generation }: ProviderNetwork, nic: Nic | undefined): string {
  return `${uid}/${generation}/${nic?.name}/${nic?.mac}`;
}

function refusal(network: ProviderNetwork, name: string, input: UnderlayInput): Problem | undefined {
  const { nics, node, moves } = input;
  const nic = nics.get(name);
  if (nic === undefined) {
    const message = `node ${node.name} has no interface ${name}: the interface is joined as soon as it exists; name another one in spec.customInterfaces, or the node in spec.excludeNodes`;
    return { code: 'InterfaceNotFound', message };
  }
  // An interface that has joined passed these checks before.
  if (moves.get(network.name)?.nic === name && moves.get(network.name)?.phase !== 'rolledBack') return undefined;
  return unsupported(network) ?? unfit(nic, node.name) ?? taken(network, name, input) ?? vlansUpon(name, input);
}

/** Fields that the nodes do not implement; they are only refused if they would have an effect. */
function unsupported({ spec }: ProviderNetwork): Problem | undefined {
  const makesVlans = spec?.autoCreateVlanSubinterfaces === true && (spec.vlanInterfaces ?? []).length > 0;
  const field = spec?.exchangeLinkName === true ? 'exchangeLinkName' : 'autoCreateVlanSubinterfaces';
  if (spec?.exchangeLinkName !== true && !makesVlans) return undefined;
  return { code: 'NotSupported', message: `spec.${field} is not supported: create the provider network without it` };
}

function unfit({ name, isLoopback, master, multipath, mtu, kind }: Nic, node: string): Problem | undefined {
  const refuse = (code: string, why: string): Problem => ({
    code,
    message: `interface ${name} of node ${node} ${why}`,
  });
  if (isLoopback)
    return refuse('InterfaceUnfit', 'is the loopback interface: name one that leads to the physical network');
  if (kind === 'bridge')
    return refuse(
      'InterfaceUnfit',
      'is a Linux bridge: remove its ports and name the one that leads to the physical network',
    );
  if (master !== undefined)
    return refuse(
      'InterfaceInUse',
      `belongs to ${master}: name ${master} if that is a bond, otherwise remove the interface from it`,
    );
  if (mtu < leastMtu)
    return refuse('MtuTooSmall', `has MTU ${mtu}: it must be at least ${leastMtu}: raise it or name another interface`);
  const [several] = multipath;
  if (several !== undefined)
    return refuse(
      'RouteNotMovable',
      `is one of several next hops to ${several}: change that to a route with one next hop`,
    );
  return undefined;
}

function taken(network: ProviderNetwork, nic: string, input: UnderlayInput): Problem | undefined {
  const { ovs } = input;
  const own = providerBridge(network.name);
  const rival = rivalOf(network, nic, input);
  if (rival !== undefined && !input.networks.some(({ name }) => name === rival)) {
    const message = `interface ${nic} is still in bridge ${providerBridge(rival)}, from which the daemon is removing it`;
    return { code: 'InterfaceInUse', message };
  }
  if (rival !== undefined) {
    const message = `interface ${nic} is that of ProviderNetwork ${rival}: use Vlans of one ProviderNetwork for networks that share an interface`;
    return { code: 'InterfaceInUse', message };
  }
  const [holder] = [...ovs.bridges].find(([name, { ports }]) => name !== own && ports.includes(nic)) ?? [];
  if (holder !== undefined) {
    const message = `interface ${nic} is a port of Open vSwitch bridge ${holder}: remove it from the bridge (ovs-vsctl del-port ${holder} ${nic}) or name another one`;
    return { code: 'InterfaceInUse', message };
  }
  return bridgeTaken(network, input);
}

/** Whether something else has the name of the bridge, or another bridge that of the network. */
function bridgeTaken({ name }: ProviderNetwork, { ovs, nics }: UnderlayInput): Problem | undefined {
  const own = providerBridge(name);
  const bridge = ovs.bridges.get(own);
  const isForeign = bridge === undefined ? nics.has(own) : bridge.owner === undefined && bridge.vendor !== vendor;
  if (isForeign)
    return {
      code: 'BridgeTaken',
      message: `bridge ${own} exists and was not created by Isthmus: remove or rename it`,
    };
  const mapped = foreignMappings(ovs).find((entry) => entry.startsWith(`${name}:`));
  if (mapped !== undefined && mapped !== `${name}:${own}`) {
    const message = `ovn-bridge-mappings in the local Open_vSwitch database has ${mapped}: remove that entry, or give the provider network another name`;
    return { code: 'BridgeTaken', message };
  }
  return undefined;
}

/** The other network that has the interface, or that wants it and is older. */
function rivalOf(network: ProviderNetwork, nic: string, { networks, node, moves }: UnderlayInput): string | undefined {
  const holder = [...moves.values()].find((move) => move.network !== network.name && move.nic === nic);
  if (holder !== undefined && holder.phase !== 'rolledBack') return holder.network;
  const wanting = networks.filter((one) => {
    if (unsupported(one) !== undefined) return false;
    const asked = one.spec && !one.isDryRun && providerNode({ network: { name: one.name, spec: one.spec }, node });
    return one.name === network.name || (asked && 'interface' in asked && asked.interface === nic);
  });
  const [first] = wanting.toSorted((a, b) => (age(a) < age(b) ? -1 : 1));
  return first === undefined || first.name === network.name ? undefined : first.name;
}

function age({ createdAt, name }: ProviderNetwork): string {
  return `${createdAt} ${name}`;
}

/** The kernel would pass packets to VLAN interfaces before Open vSwitch sees them. */
function vlansUpon(nic: string, { nics, node }: UnderlayInput): Problem | undefined {
  const upon = [...nics.values()].filter(({ vlan }) => vlan?.parent === nic).map(({ name }) => name);
  if (upon.length === 0) return undefined;
  const message = `node ${node.name} has VLAN interfaces on ${nic}, which would receive its packets before the bridge does: remove ${upon.join(', ')}, or name the node in spec.excludeNodes`;
  return { code: 'VlanInterfacesPresent', message };
}

/** Entries of `ovn-bridge-mappings` that the daemon did not write. */
export function foreignMappings({ mappings, ownMappings }: LocalBridges): readonly string[] {
  return foreignEntries(mappings, ownMappings);
}

/** The entries of a comma-separated list that are not in the list of our own entries. */
export function foreignEntries(all: string, ours: string): readonly string[] {
  const own = new Set(entriesOf(ours));
  return entriesOf(all).filter((entry) => !own.has(entry));
}

function entriesOf(text: string): readonly string[] {
  return text.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]));
}
