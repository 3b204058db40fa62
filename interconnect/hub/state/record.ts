/** What the hub holds of members and switches: exactly what the IC databases can give back after a restart. */
import type { Gateway, Member } from '../../link/messages.ts';

/** The transit switch of this hub. */
export interface TransitNetwork {
  readonly name: string;
  readonly cidr: string;
  readonly tunnelKey: number;
}

/** A member's port on the transit switch: allocated once, kept for as long as the cluster is a member. */
export interface AllocatedPort {
  readonly mac: string;
  readonly networks: readonly string[];
  readonly tunnelKey: number;
}

export interface MemberRecord {
  readonly name: string;
  readonly gateways: readonly Gateway[];
  readonly activeGateway: string;
  /** Normalised CIDRs, sorted. */
  readonly prefixes: readonly string[];
  readonly routerId: string;
  readonly port: AllocatedPort;
}

/** An availability zone that runs plain ovn-ic: shown to members, never written. */
export type ForeignMember = Member & { readonly foreign: true };

export function logicalPortOf(network: string, cluster: string): string {
  return `${network}-${cluster}`;
}
