/**
 * Whether tunnels can leave this node. In: where the tunnel address is. Out: what is missing. Pure.
 *
 * Open vSwitch in user space sends a tunnel's packets only out of a bridge of its own that has the tunnel address; anywhere else it drops
 * them without a word. The kernel's datapath leaves that to the kernel's routes.
 */
import type { Problem } from '../../lib/desired/problem.ts';

export interface TunnelAddressInput {
  readonly datapathType: 'system' | 'netdev';
  readonly encapIp: string;
  /** The interface that has the tunnel address; undefined where none has. */
  readonly holder: string | undefined;
  /** Whether that is a bridge of the local Open vSwitch. */
  readonly isOnBridge: boolean;
  /** Where its tunnels end; asked only where they could not leave, as it reads all interfaces. */
  readonly tunnelEnds: () => readonly string[];
}

export function findTunnelProblem(input: TunnelAddressInput): Problem | undefined {
  const { datapathType, encapIp, holder, isOnBridge, tunnelEnds } = input;
  // A node alone has no tunnels.
  if (datapathType === 'system' || isOnBridge || tunnelEnds().length === 0) return undefined;
  const where = holder === undefined ? 'no interface' : `interface ${holder}`;
  const remedy =
    holder === undefined
      ? 'give the address to a bridge of Open vSwitch'
      : `create a ProviderNetwork whose defaultInterface is ${holder}`;
  return {
    code: 'TunnelAddressNotOnBridge',
    message: `${where} has the tunnel address ${encapIp}, and the datapath netdev sends tunnels out of bridges of Open vSwitch only: no packet reaches another node; ${remedy}`,
  };
}
