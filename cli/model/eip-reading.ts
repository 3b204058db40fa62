/** What explains an OvnEip: the object, the rules that use it, and what OVN has of both. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { BgpReading } from './bgp.ts';

export type RuleKind = 'OvnFip' | 'OvnSnatRule' | 'OvnDnatRule' | 'RouterLBRule';

export interface RuleReading {
  readonly kind: RuleKind;
  readonly name: string;
  readonly vpc: string;
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  /** An OvnFip that is translated at the node of its pod. */
  readonly isDistributed: boolean;
  /** Its IP object; empty if the address inside is given by itself. */
  readonly ipName: string;
  /** Addresses or networks inside, IPv4 first. */
  readonly inside: readonly string[];
  /** Of an OvnDnatRule: `80/tcp`, and the port inside. Of a RouterLBRule: all its ports, and nothing. */
  readonly externalPort: string;
  readonly internalPort: string;
  readonly conditions: readonly Condition[];
}

/** A row of Port_Binding. */
export interface Binding {
  readonly port: string;
  /** Name of the chassis that has claimed it; empty if none has. */
  readonly chassis: string;
  /** What it announces by ARP: `MAC address… is_chassis_resident("…")`. */
  readonly announced: readonly string[];
}

export interface BoundPorts {
  /** Where it was asked, in words. */
  readonly where: string;
  readonly bindings: ReadonlyMap<string, Binding>;
}

export interface EipReading {
  readonly name: string;
  /** `nat`, `lrp` or another text of the user. */
  readonly type: string;
  readonly subnet: string;
  readonly addresses: readonly string[];
  readonly mac: string;
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  readonly conditions: readonly Condition[];
  /** Of an OvnEip of type lrp: the Vpc whose router has the address. */
  readonly routerOf: string;
  readonly rules: readonly RuleReading[];
  /** Limits of the bandwidth of the port that its packets pass, with the VpcNatGateway and the QoSPolicy; a problem if they may not be read. */
  readonly limits: readonly string[] | Problem;
  /** Names of nodes by their chassis. */
  readonly nodes: ReadonlyMap<string, string>;
  readonly ovn: BoundPorts | Problem;
  /** Of the whole cluster; a problem if it may not be read. */
  readonly bgp: BgpReading | Problem;
}
