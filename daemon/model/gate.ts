/**
 * Gates: by the gate of a VPC, pods of this node reach DNS and the API server. It is a network namespace with one veth pair to the integration bridge,
 * where it has the VPC's logical port for gates, and one to the node.
 */
import type { GateTarget } from '../../lib/services/gate.ts';
import type { PodInterface } from './pod-interface.ts';

export interface Gate {
  readonly vpc: string;
  /** A small number that no other gate of the node has: names and addresses on the node follow from it. */
  readonly slot: number;
}

/** Interfaces in the namespace. */
export const gateInterface = { vpc: 'vpc0', node: 'node0' } as const;

/** Networks of the links between gates and the node, of two addresses each; that of the node is even. */
export const linkNetwork = {
  4: { cidr: '169.254.224.0/20', prefix: 31 },
  6: { cidr: 'fd3b:9d15:7c2e:54::/116', prefix: 127 },
} as const;
export const mostGates = 2048;

export interface GatePlan {
  readonly gate: Gate;
  /** Towards the integration bridge. */
  readonly vpcLink: PodInterface;
  readonly nodeLink: PodInterface;
  /** Of the node's end of `nodeLink`, with prefix lengths. */
  readonly nodeAddresses: readonly string[];
  /** Of the namespace, in the language of nft. */
  readonly ruleset: string;
}

/** What all gates of the node have in common. */
export interface GateSettings {
  readonly targets: readonly GateTarget[];
  readonly mtu: number;
  readonly isUserspaceDatapath: boolean;
  /** Whether the kernel has IPv6. */
  readonly hasIpv6: boolean;
}

/** The ends on the node: on the integration bridge, and of the link to the node. */
export function gateLinkNames({ slot }: Gate): { readonly vpc: string; readonly node: string } {
  return { vpc: `isdns${slot}_p`, node: `isdns${slot}_n` };
}

/** The file of the namespace: `<vpc>.<slot>`. The folder of these files is the record of the gates of the node. */
export function gateFile({ vpc, slot }: Gate): string {
  return `${vpc}.${slot}`;
}

/** Undefined for the name of another file. */
export function parseGateFile(name: string): Gate | undefined {
  const [, vpc = '', slot = ''] = /^(.+)\.(\d{1,4})$/.exec(name) ?? [];
  return vpc === '' || Number(slot) >= mostGates ? undefined : { vpc, slot: Number(slot) };
}
