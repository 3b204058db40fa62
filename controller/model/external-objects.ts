/** Addresses of networks outside of the cluster, and the rules that use them. */
import type { ApiObjectFacts } from './object-facts.ts';
import { vipPort } from './ovn-names.ts';

/** An address of a network outside of the cluster. */
export interface OvnEip extends ApiObjectFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    /** Empty for the default, as `type`. */
    readonly externalSubnet: string;
    readonly v4Ip: string;
    readonly v6Ip: string;
    readonly macAddress: string;
    readonly type: string;
  };
}

/** Kube-OVN's ConfigMap about the default VPC's port outside, as it is written. */
export interface ExternalConfig {
  /** The router of the default VPC has a port in the Subnet `external`. */
  readonly isEnabled: boolean;
  /** What an OvnFip without a type is. */
  readonly type: 'centralized' | 'distributed';
  /** Nodes that may hold the default VPC's port, besides those with the label. */
  readonly nodes: ReadonlySet<string>;
  /** The next hops, and the addresses and the MAC address of the router; empty if not set. */
  readonly gateways: readonly string[];
  readonly ips: readonly string[];
  readonly mac: string;
  /** Keys that nothing reads, and values that are none: as `key`, or `key: value`. */
  readonly unread: readonly string[];
}

/** The address inside of a VPC that a rule is about. */
export interface InsideSpec {
  readonly ovnEip: string;
  /** `vip` if `ipName` names a Vip; otherwise it names an IP object. */
  readonly ipType: string;
  readonly ipName: string;
  readonly vpc: string;
  readonly v4Ip: string;
  readonly v6Ip: string;
}

/** An address outside that stands for one inside. */
export interface OvnFip extends ApiObjectFacts {
  readonly spec: InsideSpec & {
    /** `distributed` or `centralized`; empty for that of the ExternalConfig, or centralized. */
    readonly type: string;
  };
}

/** The address outside with which packets of a network leave. */
export interface OvnSnatRule extends ApiObjectFacts {
  readonly spec: {
    readonly ovnEip: string;
    readonly vpcSubnet: string;
    readonly ipName: string;
    readonly vpc: string;
    readonly v4IpCidr: string;
    readonly v6IpCidr: string;
  };
}

/** Under which name the address inside is held; none if it is given by itself. */
export function insidePorts({ ipType, ipName }: Pick<InsideSpec, 'ipType' | 'ipName'>): readonly string[] {
  if (ipName === '') return [];
  return [ipType === 'vip' ? vipPort(ipName) : ipName];
}

/** A port of an address outside that leads to one inside. */
export interface OvnDnatRule extends ApiObjectFacts {
  /** Whether a Kube-OVN served it before, in a load balancer of its own. */
  readonly isFormer: boolean;
  readonly spec: InsideSpec & {
    /** Decimal, as `externalPort`. */
    readonly internalPort: string;
    readonly externalPort: string;
    /** `tcp`, `udp` or `sctp`. */
    readonly protocol: string;
  };
}

/** The kinds of rules that use addresses outside, by the name of their store. */
export const externalRuleStores = ['ovnFips', 'ovnSnatRules', 'ovnDnatRules'] as const;

export type ExternalRuleStore = (typeof externalRuleStores)[number];
