/**
 * The bridge that tunnels leave by where Open vSwitch runs in user space: a provider network of the daemon's own, with no object in
 * Kubernetes. Pure.
 *
 * Open vSwitch in user space sends a tunnel's packets only out of a bridge of its own that has the tunnel address. So the interface that has
 * it goes into one, address and routes with it, unless a ProviderNetwork asks for that interface: then its bridge does as well.
 */
import { providerNode } from '../../lib/api/provider-nodes.ts';
import type { NicMove, ProviderNetwork, TunnelAddress } from '../model/provider-network.ts';

/** Of the network; its bridge is br-tunnel. */
export const tunnelNetwork = 'tunnel';

export interface TunnelNetworkInput extends TunnelAddress {
  readonly networks: readonly ProviderNetwork[];
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  /** Of the tunnel network. */
  readonly move: NicMove | undefined;
}

/** Undefined where the node needs none. */
export function planTunnelNetwork(input: TunnelNetworkInput): ProviderNetwork | undefined {
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
  // While it moves, the address is somewhere between the two.
  if (move !== undefined && move.phase !== 'rolledBack') return move.nic;
  return isOnBridge || !hasTunnels() ? undefined : holder;
}
