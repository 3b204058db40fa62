/** Addresses of networks outside of the cluster, and the rules that use them. */
import { externalSubnet } from '../../lib/api/names.ts';
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

const podPrefix = 'pods/';

/** The name, among those of all addresses outside, of one that annotations of pods name, in canonical form; no object has such a name. */
export function podEipId(address: string): string {
  return podPrefix + address;
}

type EipStores = { readonly [K in 'ovnEips' | 'iptablesEips']: ReadonlyMap<string, OvnEip> };

/** The store of an address outside, and its name there. One that annotations of pods name is in none: its name is the address. */
export function eipRef(id: string): { readonly kind: keyof EipStores | 'pods'; readonly name: string } {
  if (id.startsWith(podPrefix)) return { kind: 'pods', name: id.slice(podPrefix.length) };
  return id.startsWith(iptablesPrefix)
    ? { kind: 'iptablesEips', name: id.slice(iptablesPrefix.length) }
    : { kind: 'ovnEips', name: id };
}

export function eipAt(stores: EipStores, id: string): OvnEip | undefined {
  const { kind, name } = eipRef(id);
  return kind === 'pods' ? podEip(id, name) : stores[kind].get(name);
}

/** An address of the Subnet `external` as if it were an object: pods share it as rules share an OvnEip. */
function podEip(id: string, address: string): OvnEip {
  const isIpv6 = address.includes(':');
  return {
    id,
    name: address,
    uid: id,
    resourceVersion: '',
    createdMs: 0,
    isDeleting: false,
    generation: 0,
    finalizers: [],
    conditions: [],
    status: {},
    labels: {},
    spec: {
      externalSubnet,
      v4Ip: isIpv6 ? '' : address,
      v6Ip: isIpv6 ? address : '',
      macAddress: '',
      type: '',
      natGateway: undefined,
      qosPolicy: '',
    },
    unsupported: [],
  };
}

const eipKinds = { ovnEips: 'OvnEip', iptablesEips: 'IptablesEIP', pods: 'address' } as const;

/** `OvnEip web` */
export function eipTitle(id: string): string {
  const { kind, name } = eipRef(id);
  return `${eipKinds[kind]} ${name}`;
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
