/**
 * Whether tunnels can leave this node. In: where the tunnel address is. Out: what is missing. Pure.
 *
 * Open vSwitch in user space sends a tunnel's packets only out of a bridge of its own that has the tunnel address; anywhere else it drops
 * them without a word. The kernel's datapath leaves that to the kernel's routes.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { TunnelAddress } from '../model/provider-network.ts';

export interface TunnelAddressInput extends TunnelAddress {
  readonly encapIp: string;
  /** Whether an interface goes into a bridge, or out of one, at this moment. */
  readonly isMoving: boolean;
  /** Why the daemon cannot put that interface into a bridge; undefined while it does, or where it need not. */
  readonly obstacle: Problem | undefined;
}

export function findTunnelProblem(input: TunnelAddressInput): Problem | undefined {
  const { datapathType, encapIp, holder, isOnBridge, hasTunnels, isMoving, obstacle } = input;
  // A node alone has no tunnels.
  if (datapathType === 'system' || isOnBridge || !hasTunnels()) return undefined;
  if (isMoving || (holder !== undefined && obstacle === undefined))
    return {
      code: 'TunnelBridgePending',
      message: `the interface with the tunnel address ${encapIp} is moved into a bridge of Open vSwitch, as the datapath netdev asks for`,
    };
  const where = holder === undefined ? 'no interface' : `interface ${holder}`;
  const remedy = obstacle?.message ?? 'give the address to an interface of the node';
  return {
    code: 'TunnelAddressNotOnBridge',
    message: `${where} has the tunnel address ${encapIp}, and the datapath netdev sends tunnels out of bridges of Open vSwitch only: no packet reaches another node; ${remedy}`,
  };
}
