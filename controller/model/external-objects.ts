/** Addresses of networks outside of the cluster, and the rules that use them. */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { RuleObject as LbRuleObject } from '../../lib/services/switch-lb-rule.ts';
import type { ApiObjectFacts } from './object-facts.ts';
import { vipPort } from './ovn-names.ts';

/** An address of a network outside of the cluster: an OvnEip, or an IptablesEIP, which belongs to a VpcNatGateway. */
export interface OvnEip extends ApiObjectFacts {
  /** Its name among those of both kinds: see `iptablesEipId`. */
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly externalSubnet: string;
    readonly v4Ip: string;
    readonly v6Ip: string;
    readonly macAddress: string;
    /** Empty for the default. */
    readonly type: string;
    /** Undefined for an OvnEip, whose rules name their VPC or an object in it. */
    readonly natGateway: string | undefined;
    /** Empty if its bandwidth is not limited. */
    readonly qosPolicy: string;
  };
  /** Fields that are set and not served, with what to do instead. */
  readonly unsupported: readonly string[];
}

/** Connects the router of a VPC with Subnets outside. */
export interface VpcNatGateway extends ApiObjectFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly vpc: string;
    /** Empty where there is no `lanIp`. */
    readonly subnet: string;
    readonly lanIp: string;
    readonly externalSubnets: readonly string[];
    /** Nodes that match one of them may hold the ports; without any, nodes with the label of gateways. */
    readonly nodeSelectors: readonly LabelSelector[];
    /** Empty if its bandwidth is not limited. */
    readonly qosPolicy: string;
  };
  /** Parts of the spec that are set and not served, with what to do instead. */
  readonly unsupported: readonly string[];
}

/** A limit of a QoSPolicy, as written. */
export interface QosRule {
  readonly name: string;
  readonly interface: string;
  /** Mbit/s. */
  readonly rateMax: string;
  /** MB; empty for the default. */
  readonly burstMax: string;
  /** Of several rules that a packet matches, the lowest number applies. */
  readonly priority: number;
  readonly direction: string;
  readonly matchType: string;
  readonly matchValue: string;
}

/** Limits of the bandwidth of addresses outside, or of VpcNatGateways. */
export interface QosPolicy extends ApiObjectFacts {
  readonly spec: {
    /** `EIP` or `NATGW`. */
    readonly bindingType: string;
    /** Whether several objects may name it. */
    readonly isShared: boolean;
    readonly rules: readonly QosRule[];
  };
  /** Those that its status shows, by which a refused edit leaves the former limits in force. */
  readonly shownRules: readonly QosRule[];
}

const iptablesPrefix = 'iptables/';

/** The name of an IptablesEIP among those of all addresses outside; no OvnEip has such a name. */
export function iptablesEipId(name: string): string {
  return iptablesPrefix + name;
}

type EipStores = { readonly [K in 'ovnEips' | 'iptablesEips']: ReadonlyMap<string, OvnEip> };

/** The store of an address outside, and its name there. */
export function eipRef(id: string): { readonly kind: keyof EipStores; readonly name: string } {
  return id.startsWith(iptablesPrefix)
    ? { kind: 'iptablesEips', name: id.slice(iptablesPrefix.length) }
    : { kind: 'ovnEips', name: id };
}

export function eipAt(stores: EipStores, id: string): OvnEip | undefined {
  const { kind, name } = eipRef(id);
  return stores[kind].get(name);
}

/** `OvnEip web` */
export function eipTitle(id: string): string {
  const { kind, name } = eipRef(id);
  return `${kind === 'ovnEips' ? 'OvnEip' : 'IptablesEIP'} ${name}`;
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
  /** The `id` of the address outside. */
  readonly eip: string;
  /** `vip` if `ipName` names a Vip; otherwise it names an IP object. */
  readonly ipType: string;
  readonly ipName: string;
  /** Empty in rules of a VpcNatGateway, which has the VPC. */
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
    readonly eip: string;
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
  /** Whether rules with the same port share its connections. */
  readonly isShared: boolean;
  readonly spec: InsideSpec & {
    /** Decimal, as `externalPort`. */
    readonly internalPort: string;
    readonly externalPort: string;
    /** `tcp`, `udp` or `sctp`. */
    readonly protocol: string;
  };
}

/** Ports of an address outside that lead to pods. */
export interface RouterLbRule extends ApiObjectFacts, LbRuleObject {
  readonly spec: LbRuleObject['spec'] & {
    /** The `id` of the address outside. */
    readonly eip: string;
    readonly vpc: string;
  };
}

/** The kinds of rules that use addresses outside, by the name of their store. Their texts are for messages. */
export const externalRuleKinds = {
  ovnFips: { use: 'fip', kind: 'OvnFip', eipField: 'spec.ovnEip', insideField: 'v4Ip' },
  ovnSnatRules: { use: 'snat', kind: 'OvnSnatRule', eipField: 'spec.ovnEip', insideField: 'v4IpCidr' },
  ovnDnatRules: { use: 'dnat', kind: 'OvnDnatRule', eipField: 'spec.ovnEip', insideField: 'v4Ip' },
  routerLbRules: { use: 'dnat', kind: 'RouterLBRule', eipField: 'spec.ovnEip', insideField: '' },
  iptablesFips: { use: 'fip', kind: 'IptablesFIPRule', eipField: 'spec.eip', insideField: 'internalIp' },
  iptablesSnats: { use: 'snat', kind: 'IptablesSnatRule', eipField: 'spec.eip', insideField: 'internalCIDR' },
  iptablesDnats: { use: 'dnat', kind: 'IptablesDnatRule', eipField: 'spec.eip', insideField: 'internalIp' },
} as const;

export type ExternalRuleStore = keyof typeof externalRuleKinds;

export const externalRuleStores = Object.keys(externalRuleKinds) as readonly ExternalRuleStore[];

/** Those that are about one address or network inside. */
export type AddressRuleStore = Exclude<ExternalRuleStore, 'routerLbRules'>;

export type AddressRule =
  | { readonly use: 'fip'; readonly rule: OvnFip }
  | { readonly use: 'snat'; readonly rule: OvnSnatRule }
  | { readonly use: 'dnat'; readonly rule: OvnDnatRule };

export type RuleObject = AddressRule | { readonly use: 'lb'; readonly rule: RouterLbRule };

type RuleStores = { readonly [K in 'ovnFips' | 'iptablesFips']: ReadonlyMap<string, OvnFip> } & {
  readonly [K in 'ovnSnatRules' | 'iptablesSnats']: ReadonlyMap<string, OvnSnatRule>;
} & { readonly [K in 'ovnDnatRules' | 'iptablesDnats']: ReadonlyMap<string, OvnDnatRule> } & {
  readonly routerLbRules: ReadonlyMap<string, RouterLbRule>;
};

/** The rule of a name, by what it does, whatever its kind. */
export function ruleObject(stores: RuleStores, store: AddressRuleStore, name: string): AddressRule | undefined;
export function ruleObject(stores: RuleStores, store: ExternalRuleStore, name: string): RuleObject | undefined;
export function ruleObject(stores: RuleStores, store: ExternalRuleStore, name: string): RuleObject | undefined {
  if (store === 'routerLbRules') {
    const rule = stores[store].get(name);
    return rule && { use: 'lb', rule };
  }
  if (store === 'ovnFips' || store === 'iptablesFips') {
    const rule = stores[store].get(name);
    return rule && { use: 'fip', rule };
  }
  if (store === 'ovnSnatRules' || store === 'iptablesSnats') {
    const rule = stores[store].get(name);
    return rule && { use: 'snat', rule };
  }
  const rule = stores[store].get(name);
  return rule && { use: 'dnat', rule };
}

export function isExternalRuleStore(kind: string): kind is ExternalRuleStore {
  return Object.hasOwn(externalRuleKinds, kind);
}
