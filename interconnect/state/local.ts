/** This cluster as the plans see it: immutable values, made anew by `watch/` whenever a part changes. */
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Ip } from '../../lib/net/ip.ts';
import type { Gateway } from '../link/messages.ts';

/** Something local that no remote prefix may equal or lie in. */
export interface LocalRange {
  /** For messages: `subnet ovn-default`. */
  readonly name: string;
  readonly cidr: Cidr;
}

/** A node that may carry traffic between clusters. */
export interface GatewayNode {
  readonly node: string;
  readonly chassis: string;
}

/** A chassis of this cluster as the southbound database has it. */
export interface LocalChassis {
  readonly gateway: Gateway;
  /** Whether its ovn-controller makes tunnels to other clusters. */
  readonly isInterconnect: boolean;
}

export interface LocalView {
  readonly cluster: string;
  /** The router that is joined. */
  readonly router: string;
  readonly routerId: string;
  readonly prefixes: readonly string[];
  readonly ranges: readonly LocalRange[];
  readonly nodeAddresses: readonly { readonly node: string; readonly ip: Ip }[];
  readonly gatewayNodes: readonly GatewayNode[];
  /** By chassis name; remote chassis are not among them. */
  readonly chassis: ReadonlyMap<string, LocalChassis>;
}

export function transitRouterPort(cluster: string, network: string): string {
  return `${cluster}-${network}`;
}
