/** How packets leave a Subnet; all rooms must agree on it. Pure. */

export interface U2oFeatures {
  readonly overlayOnlyRouting?: boolean | undefined;
}

export interface RoutingFields {
  readonly vlan?: string | undefined;
  readonly logicalGateway?: boolean | undefined;
  readonly u2oInterconnection?: boolean | undefined;
}

/**
 * `overlay`: no VLAN, the router of the VPC is the gateway. In a VLAN: `logicalGateway`, where that router is the gateway
 * too; `u2o`, where it has an address beside the physical gateway and knows the VPC's own networks; `physical`, where the
 * router of the VPC has no part in it; `nodes`, the same in a ProviderNetwork with `routedByNodes`, where each node is the gateway.
 */
export type SubnetRouting = 'overlay' | 'logicalGateway' | 'u2o' | 'physical' | 'nodes';

/** The routing that a spec requests. `isByNodes`: its VLAN is in a ProviderNetwork with `routedByNodes`. */
export function routingOf(
  { vlan = '', logicalGateway, u2oInterconnection }: RoutingFields,
  isByNodes = false,
): SubnetRouting {
  if (vlan === '') return 'overlay';
  if (logicalGateway === true) return 'logicalGateway';
  if (u2oInterconnection === true) return 'u2o';
  return isByNodes ? 'nodes' : 'physical';
}

/** Whether pods of other subnets, and of other clusters, reach it through the router of its VPC. */
export function isRouted(routing: SubnetRouting): boolean {
  return routing !== 'physical' && routing !== 'nodes';
}

/**
 * Whether other clusters may reach it. With `overlayOnlyRouting` a subnet answers all destinations outside the overlay through
 * the physical gateway.
 */
export function isForOtherClusters(
  routing: SubnetRouting,
  spec: { readonly u2oFeatures?: U2oFeatures | undefined },
): boolean {
  return isRouted(routing) && !(routing === 'u2o' && spec.u2oFeatures?.overlayOnlyRouting === true);
}

/** Whether its packets leave the cluster through nodes, as those of overlay subnets do. */
export function isThroughRouter(routing: SubnetRouting): boolean {
  return routing === 'overlay' || routing === 'logicalGateway';
}
