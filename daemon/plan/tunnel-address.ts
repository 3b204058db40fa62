/**
 * Place of the tunnel address → why tunnels cannot leave this node. Pure.
 *
 * A userspace Open vSwitch sends packets of tunnels only out of one of its bridges that has the tunnel address; otherwise it drops them
 * silently. With the kernel's datapath, the routes of the kernel decide.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { TunnelAddress } from '../model/provider-network.ts';

export interface TunnelAddressInput extends TunnelAddress {
  readonly encapIp: string;
  /** Whether an interface is being moved into a bridge, or out of one. */
  readonly isMoving: boolean;
  /** Why the daemon cannot move the interface into a bridge; undefined while it does, or if it need not. */
  readonly obstacle: Problem | undefined;
}

export function findTunnelProblem(input: TunnelAddressInput): Problem | undefined {
  const { datapathType, encapIp, holder, isOnBridge, hasTunnels, isMoving, obstacle } = input;
  // A single node has no tunnels.
  if (datapathType === 'system' || isOnBridge || !hasTunnels()) return undefined;
  if (isMoving || (holder !== undefined && obstacle === undefined))
    return {
      code: 'TunnelBridgePending',
      message: `the interface with the tunnel address ${encapIp} is moved into a bridge of Open vSwitch, as the datapath netdev requires`,
    };
  const where = holder === undefined ? 'no interface' : `interface ${holder}`;
  const remedy = obstacle?.message ?? 'give the address to an interface of the node';
  return {
    code: 'TunnelAddressNotOnBridge',
    message: `${where} has the tunnel address ${encapIp}, and the datapath netdev can send tunnels only through bridges of Open vSwitch: no packet reaches another node; ${remedy}`,
  };
}
