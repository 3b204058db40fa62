/**
 * Things that only one holder can have: chassis, tunnel addresses, ports, addresses and keys on the paths, prefixes.
 */
import type { Cidr } from '../../../lib/net/cidr.ts';

export interface HeldPath {
  readonly switch: string;
  readonly logicalPort: string;
  /** With or without prefix length. */
  readonly networks: readonly string[];
  readonly tunnelKey: number;
}

export interface Held {
  readonly chassis: readonly string[];
  /** `type/ip` */
  readonly encaps: readonly string[];
  /** Public keys of WireGuard, also those that are to replace them. */
  readonly publicKeys: readonly string[];
  /** Addresses within encrypted tunnels. */
  readonly tunnelAddresses: readonly string[];
  readonly ports: readonly HeldPath[];
  readonly prefixes: readonly PrefixClaim[];
}

export interface PrefixClaim {
  readonly network: string;
  readonly cidr: string;
  /** From its routers: others may have it as well. */
  readonly isLearned: boolean;
}

export const holdsNothing: Held = {
  chassis: [],
  encaps: [],
  publicKeys: [],
  tunnelAddresses: [],
  ports: [],
  prefixes: [],
};

/** Things that may not be given to `cluster`, because others have them. */
export interface Others extends Taken {
  chassis(name: string): string | undefined;
  encap(key: string): string | undefined;
  publicKey(key: string): string | undefined;
  tunnelAddress(address: string): string | undefined;
  port(logicalPort: string): string | undefined;
  /** A prefix of its holder's own that overlaps. */
  prefix(network: string, cidr: Cidr): HeldPrefix | undefined;
  /** A prefix of its holder's own that has all of these addresses. */
  cover(network: string, cidr: Cidr): HeldPrefix | undefined;
}

/** Addresses and keys that others have on a path. */
export interface Taken {
  hasAddress(pathSwitch: string, address: string): boolean;
  hasKey(pathSwitch: string, tunnelKey: number): boolean;
}

export interface HeldPrefix {
  readonly cidr: Cidr;
  readonly holder: string;
}
