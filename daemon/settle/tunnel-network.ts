/**
 * Decides whether the node needs a bridge for tunnels, with the userspace datapath. That bridge is a provider network of the daemon, without
 * an object in Kubernetes. Pure.
 *
 * A userspace Open vSwitch sends packets of tunnels only out of one of its bridges that has the tunnel address. So the interface with that
 * address is moved into a bridge, with its addresses and routes, unless a ProviderNetwork asks for that interface: then the bridge of that
 * network is enough.
 */
import { providerNode } from '../../lib/api/provider-nodes.ts';
import type { NicMove, ProviderNetwork, TunnelAddress } from '../model/provider-network.ts';

/** Name of the network; its bridge is br-tunnel. */
export const tunnelNetwork = 'tunnel';

export interface TunnelNetworkInput extends TunnelAddress {
  readonly networks: readonly ProviderNetwork[];
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  /** The recorded move of the tunnel network. */
  readonly move: NicMove | undefined;
}

/** Undefined if the node needs none. */
export function decideTunnelNetwork(input: TunnelNetworkInput): ProviderNetwork | undefined {
  const { networks, node } = input;
  if (networks.some(({ name }) => name === tunnelNetwork)) return undefined;
  const nic = neededInterface(input);
  if (nic === undefined) return undefined;
  const isAsked = networks.some(({ name, spec, isDryRun }) => {
    const asked = spec && !isDryRun && providerNode({ network: { name, spec }, node });
    return asked && 'interface' in asked && asked.interface === nic;
  });
  if (isAsked) return undefined;
  return {
    name: tunnelNetwork,
    uid: tunnelNetwork,
    generation: 0,
    createdAt: '',
    spec: { defaultInterface: nic },
    isDryRun: false,
  };
}

function neededInterface({
  datapathType,
  holder,
  isOnBridge,
  hasTunnels,
  move,
}: TunnelNetworkInput): string | undefined {
  if (datapathType === 'system') return undefined;
  // During the move, the address may be on neither of the two.
  if (move !== undefined && move.phase !== 'rolledBack') return move.nic;
  return isOnBridge || !hasTunnels() ? undefined : holder;
}
