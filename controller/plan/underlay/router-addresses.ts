/** The addresses of a VPC's router in a subnet, and the gateway of the subnet's pods. */
import { formatIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import { formerGateways } from '../../settle/subnet/former-gateways.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import type { View } from '../../model/view.ts';
import { ipsOf, u2oAllocation } from '../../settle/underlay/u2o-allocation.ts';
import { hasLogicalGateway, hasRouterPort, routingInForce } from '../../model/net-in-force.ts';
import type { NetInForce } from '../../model/net-in-force.ts';

export interface RouterAddresses {
  readonly net: NetInForce;
  /** One of each family; none if only former ones are left. */
  readonly ips: readonly Ip[];
  /** Where it was given with the addresses; else the router's port has one of its own. */
  readonly mac?: string;
}

function gatewaysOf({ v4, v6 }: NetInForce): readonly Ip[] {
  return [v4, v6].flatMap((part): Ip[] =>
    part === undefined ? [] : [{ family: part.cidr.family, value: part.gateway }],
  );
}

/** Undefined if the router has no port in the subnet, or no address for it yet. */
export function routerAddresses(view: View, subnet: string): RouterAddresses | undefined {
  const net = servedNet(view, subnet);
  if (net === undefined) return undefined;
  // Pods that were configured while the router took part in their routing still send packets to it.
  if (!hasRouterPort(net)) return formerGateways(view, subnet).length === 0 ? undefined : { net, ips: [] };
  if (routingInForce(net) !== 'u2o') return { net, ips: gatewaysOf(net) };
  const allocation = u2oAllocation(view, subnet);
  return allocation && { net, ips: ipsOf(allocation), mac: allocation.mac };
}

/** Whether the router of the VPC has a port in a subnet with another gateway. */
export function isJoined(view: View, subnet: string): boolean {
  const addresses = routerAddresses(view, subnet);
  return addresses !== undefined && !hasLogicalGateway(addresses.net);
}

/** The address pods of the subnet have as gateway of a family; undefined while there is none to name. */
export function podGateway(view: View, subnet: string, family: Family): string | undefined {
  const net = view.verdicts.get(subnet)?.net;
  if (net === undefined) return undefined;
  const allocation = routingInForce(net) === 'u2o' ? u2oAllocation(view, subnet) : undefined;
  if (routingInForce(net) === 'u2o' && allocation === undefined) return undefined;
  const ips = allocation === undefined ? gatewaysOf(net) : ipsOf(allocation);
  const ip = ips.find((one) => one.family === family);
  return ip && formatIp(ip);
}
