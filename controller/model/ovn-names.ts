import type { Family } from '../../lib/net/ip.ts';
import { digestName } from '../../lib/ovn/digest-name.ts';

/** Under which name a Vip holds its address; no port of a pod or node can have it. */
export function vipPort(name: string): string {
  return `vip/${name}`;
}

/** Under which name an address outside is held, by the `id` of its object; no port of a pod or node can have it. */
export function eipPort(id: string): string {
  return `eip/${id}`;
}

/** Under which name a VpcNatGateway holds its `lanIp`; no port of a pod or node can have it. */
export function natGatewayPort(name: string): string {
  return `nat-gateway/${name}`;
}

/** Of a VpcEgressGateway, `namespace/name`: its number among the addresses that it holds outside. No port of a pod or node can have the name. */
export function egressPort(gateway: string, index: number): string {
  return `egress-gateway/${gateway}/${index}`;
}

/** The router of a VpcEgressGateway; no Vpc can have the name. */
export function egressRouter(gateway: string): string {
  return `veg@${digestName('egress-gateway', gateway).slice(0, 12)}`;
}

/** The addresses of the pods that a VpcEgressGateway selects. */
export function egressSet(gateway: string, family: Family): string {
  return `VEG.${digestName('egress-gateway', gateway).slice(0, 12)}.ipv${family}`;
}

/**
 * All networks but those that a router reaches inside, as an address set for policies that lead packets outside. With a Subnet outside, its own
 * networks are left out as well.
 */
export function networksBeyondSet(vpc: string, family: Family, subnet?: string): string {
  // No name contains an underscore, except at its start.
  const beyond = subnet === undefined ? '' : `_${portGroupPart(subnet)}`;
  return `${portGroupPart(vpc)}_beyond${beyond}.ip${family}`;
}

/** The BFD session of a router's port with a router outside: its row, and its state. */
export function upstreamKey(port: string, address: string): string {
  return `${port}/${address}`;
}

/** The router's port in such a key. */
export function upstreamPort(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** The name under which a node holds its service address, the second address of its port. No port of a pod or node has this name. */
export function nodeServicePort(node: string): string {
  return `node-service/${node}`;
}

/** Names that an IPPool's address sets may have: one for each family where it has both. */
export function addressSetsOf(pool: string): readonly [string, string] {
  const base = portGroupPart(pool);
  return [base, `${base}.v6`];
}

/** A name as part of a port group's: match expressions know no `-`, and no digit in front. */
export function portGroupPart(name: string): string {
  const dotted = name.replaceAll('-', '.');
  return /^\d/.test(dotted) ? `_${dotted}` : dotted;
}

/** The ports of one subnet on one node. */
export function gatewayPortGroup(subnet: string, node: string): string {
  return `${portGroupPart(subnet)}.${node.replaceAll('-', '.')}`;
}

/** The ports of a node's pods that policies select, and that the node reaches. */
export function nodePortGroup(node: string): string {
  return `node.${node.replaceAll('-', '.')}`;
}

/** Those of them that policies of the whole cluster select, where OVN has no ACL tiers. */
export function clusterNodePortGroup(node: string): string {
  return `isthmus.cluster.${nodePortGroup(node)}`;
}

/** The addresses by which packets reach nodes. */
export function nodeAddressSet(family: Family): string {
  return `isthmus.nodes.v${family}`;
}

/** Prefix of the names of all its port groups and address sets. */
export const securityGroupPrefix = 'ovn.sg.';

/** `ovn.sg.<name>`; match expressions know no `-`. */
export function securityPortGroup(name: string): string {
  return securityGroupPrefix + (name.includes('-') ? name.replaceAll('-', '.') : name);
}

/** First octet of router ports' MAC addresses; ports of pods and nodes have another. */
export const routerMacSpace = 0x06;

/** The addresses of a group's members. */
export function memberSet(name: string, family: Family): string {
  return `${securityPortGroup(name)}.associated.v${family}`;
}
