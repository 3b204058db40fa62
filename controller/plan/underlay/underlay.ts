/** What it means for a subnet to be in a VLAN of the physical network. */
import { isRouted, isThroughRouter } from '../../../lib/api/subnet-routing.ts';
import type { SubnetRouting } from '../../../lib/api/subnet-routing.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';

export interface Underlay {
  /** The ProviderNetwork. */
  readonly provider: string;
  /** 0 for packets without a tag. */
  readonly vlan: number;
  readonly routing: Exclude<SubnetRouting, 'overlay'>;
}

/** What is in force of a Subnet. */
export interface NetInForce extends SubnetNet {
  /** Absent of an overlay subnet. */
  readonly underlay?: Underlay;
}

export function routingInForce(net: NetInForce | undefined): SubnetRouting {
  return net?.underlay?.routing ?? 'overlay';
}

/** Whether the router of the VPC has a port in it. */
export function hasRouterPort(net: NetInForce): boolean {
  return isRouted(routingInForce(net));
}

/** Whether the router of the VPC is the gateway of its pods for everything. */
export function hasLogicalGateway(net: NetInForce | undefined): boolean {
  return isThroughRouter(routingInForce(net));
}

/** As an accepted note has it: `net1/100/u2o`. */
export function underlayText({ provider, vlan, routing }: Underlay): string {
  return `${provider}/${vlan}/${routing}`;
}

const routings = ['logicalGateway', 'u2o', 'physical'] as const;

/** Undefined where it is none. */
export function parseUnderlay(text: string): Underlay | undefined {
  const [, provider = '', vlan = '', name = ''] = /^([^/@]+)\/(\d{1,4})\/(\w+)$/.exec(text) ?? [];
  const routing = routings.find((one) => one === name);
  return routing && { provider, vlan: Number(vlan), routing };
}
