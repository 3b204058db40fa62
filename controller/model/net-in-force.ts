/** The place of a subnet in a VLAN of the physical network. */
import type { Underlay } from '../../lib/api/in-force.ts';
import { isRouted, isThroughRouter } from '../../lib/api/subnet-routing.ts';
import type { SubnetRouting } from '../../lib/api/subnet-routing.ts';
import type { SubnetNet } from '../ipam/subnet-pool.ts';

/** The network in force of a Subnet. */
export interface NetInForce extends SubnetNet {
  /** Absent of an overlay subnet. */
  readonly underlay?: Underlay;
}

export function routingInForce(net: NetInForce | undefined): SubnetRouting {
  return net?.underlay?.routing ?? 'overlay';
}

/** Whether it is a network that nodes may have addresses in themselves. */
export function isInLan(net: NetInForce): boolean {
  return net.underlay !== undefined && net.underlay.routing !== 'nodes';
}

/** Whether the router of the VPC has a port in it. */
export function hasRouterPort(net: NetInForce): boolean {
  return isRouted(routingInForce(net));
}

/** Whether the router of the VPC is the gateway of its pods for everything. */
export function hasLogicalGateway(net: NetInForce | undefined): boolean {
  return isThroughRouter(routingInForce(net));
}
