import { externalId, vendor } from '../../lib/api/names.ts';

/** The ids on every row of Isthmus, for tools that look for them. */
export const vendorIds: Readonly<Record<string, string>> = { [externalId.vendor]: vendor };

/**
 * Priorities of the router's policies; higher wins. Those of the interconnect are at 29500. Prefixes learned by BGP are just
 * above the gateways, so that a user's policy that overrides gateways also overrides them.
 */
export const policyPriority = {
  subnetLocal: 31000,
  /** Above the policies that send packets to nodes, because such a packet must not leave the cluster. */
  serviceLocal: 30500,
  /** Above the policies that send packets to nodes, which they replace for replies. */
  serviceReply: 30400,
  underlayLocal: 30060,
  underlayGateway: 30050,
  nodeLocal: 30000,
  underlay: 29400,
  /** Plus the prefix length of the source: packets that leave by a Subnet outside. Above gateways and learned prefixes. */
  external: 29140,
  /** Networks of a closed VpcEgressGateway in conflict: the other gateway has precedence. */
  egressConflict: 29269,
  /** Networks that leave by a VpcEgressGateway, before OvnSnatRules. */
  egressNetwork: 29270,
  /** Pods that a VpcEgressGateway selects. */
  egressPod: 29271,
  /** An address with an OvnFip, which has precedence over networks and selected pods. */
  externalAddress: 29272,
  /** The same for replies to an OvnDnatRule. */
  externalReply: 29273,
  /** Above gateways and learned prefixes. */
  serviceReplyOutside: 29300,
  learned: 29001,
  gateway: 29000,
  /** The lowest: at 0 is OVN's own that lets everything pass. */
  nowhere: 1,
} as const;

/** `ip4` or `ip6` in match expressions. */
export function matchFamily(family: 4 | 6): string {
  return family === 4 ? 'ip4' : 'ip6';
}
