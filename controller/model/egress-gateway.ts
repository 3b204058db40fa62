/** Fixed addresses outside for networks and selected pods of a VPC. */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Family } from '../../lib/net/ip.ts';
import type { ApiObjectFacts } from './object-facts.ts';

/** Networks that leave by the gateway. */
export interface EgressPolicy {
  /** Whether their packets get the address of the gateway. */
  readonly isTranslated: boolean;
  /** Addresses and CIDRs. */
  readonly ipBlocks: readonly string[];
  readonly subnets: readonly string[];
}

export interface VpcEgressGateway extends ApiObjectFacts {
  readonly namespace: string;
  readonly spec: {
    /** Empty for the default VPC. */
    readonly vpc: string;
    readonly replicas: number;
    readonly externalSubnet: string;
    /** Of each port: an address, or one of each family separated by a comma. */
    readonly externalIPs: readonly string[];
    /** Name of an IPPool; empty for any free address. */
    readonly externalIPPool: string;
    /** Whether packets are dropped while the gateway cannot take them. */
    readonly isClosed: boolean;
    readonly policies: readonly EgressPolicy[];
    /** Of the labels that `policyLabels` joins: those of a pod and of its namespace. */
    readonly selectors: readonly LabelSelector[];
    /** Of the labels of nodes and of their fields, as `nodeLabels` joins them; none for all nodes. */
    readonly nodeSelectors: readonly LabelSelector[];
    /** Whether each port needs a node of its own. */
    readonly isSpread: boolean;
    /** Whether pods should leave by a port on their own node. */
    readonly isLocal: boolean;
  };
  /** Fields of the spec that only a pod in the path of packets could serve. */
  readonly needsPods: readonly string[];
  /** Fields of the spec that are set and not supported. */
  readonly unsupported: readonly string[];
}

/** A network that leaves by a gateway. */
export interface EgressNetwork {
  readonly family: Family;
  /** In canonical form. */
  readonly cidr: string;
  readonly isTranslated: boolean;
}

/** The addresses of the link between the router of a VPC and that of a gateway. */
export interface EgressLink {
  readonly family: Family;
  /** Of the router of the VPC. */
  readonly near: string;
  /** Of the router of the gateway: the next hop of the VPC's packets. */
  readonly far: string;
  readonly prefix: number;
}

/** The decisions about a VpcEgressGateway. */
export interface EgressGateway {
  readonly vpc: string;
  readonly subnet: string;
  /** For each port with a node: the nodes that may hold it, the first one first. */
  readonly ports: readonly (readonly { readonly node: string; readonly chassis: string }[])[];
  /** Empty while the VPC has no router. */
  readonly link: readonly EgressLink[];
  readonly networks: readonly EgressNetwork[];
  /** Whether it selects pods. */
  readonly hasSelectors: boolean;
  readonly isClosed: boolean;
  /** Why the spec is refused. */
  readonly refusal?: Problem;
  /** What it waits for. Without rows its packets leave as those of other pods do, or are dropped if it is closed. */
  readonly obstacle?: Problem;
  /** What is missing while it works. */
  readonly lack?: Problem;
}

/** Prefix of the names of a node's fields among its labels. */
export const nodeField = 'field:';

/** What selectors of nodes are about. */
export function nodeLabels(node: {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}): Readonly<Record<string, string>> {
  return { ...node.labels, [`${nodeField}metadata.name`]: node.name };
}

/** Reason of a refusal in favour of an older gateway. */
export const egressConflict = 'Conflict';

/** The VPC of a gateway. */
export function vpcOfGateway({ spec }: Pick<VpcEgressGateway, 'spec'>): string {
  return spec.vpc === '' ? defaultVpc : spec.vpc;
}

/** Keys of a gateway in the index by what it names. */
export function placesOfGateway(gateway: VpcEgressGateway): readonly string[] {
  const { externalSubnet, policies } = gateway.spec;
  const subnets = [externalSubnet, ...policies.flatMap(({ subnets: named }) => named)];
  return ['', `vpc/${vpcOfGateway(gateway)}`, ...subnets.map((subnet) => `subnet/${subnet}`)];
}

/** Whether packets are led to the router of the gateway. */
export function isLeading(gateway: EgressGateway | undefined): gateway is EgressGateway {
  return gateway !== undefined && gateway.refusal === undefined && gateway.obstacle === undefined;
}

/** Whether packets of the gateway are dropped. Those of networks in conflict are so unless the other gateway takes them. */
export function isDropping(gateway: EgressGateway | undefined): gateway is EgressGateway {
  if (gateway?.isClosed !== true) return false;
  return gateway.refusal !== undefined || gateway.obstacle !== undefined;
}
