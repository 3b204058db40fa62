/** Which addresses the router of a VPC has in a subnet, and by which gateway its pods leave it. */
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import { servedNet } from '../subnet/served-net.ts';
import type { View } from '../view.ts';
import { hasRouterPort, routingInForce } from './underlay.ts';
import type { NetInForce } from './underlay.ts';

export interface RouterAddresses {
  readonly net: NetInForce;
  /** One of each family. */
  readonly ips: readonly Ip[];
  /** Where it was given with the addresses; else the router's port has one of its own. */
  readonly mac?: string;
}

/** What the router has beside the physical gateway; undefined while it has none. */
export function u2oAllocation(view: View, subnet: string): Allocation | undefined {
  return view.ports(`u2o/${subnet}`)[0]?.allocation;
}

function ipsOf({ v4, v6 }: Allocation): readonly Ip[] {
  return [v4, v6].flatMap((text) => (text === undefined ? [] : (parseIp(text) ?? [])));
}

function gatewaysOf({ v4, v6 }: NetInForce): readonly Ip[] {
  return [v4, v6].flatMap((part): Ip[] =>
    part === undefined ? [] : [{ family: part.cidr.family, value: part.gateway }],
  );
}

/** Undefined where the router has no port in the subnet, or no address for it yet. */
export function routerAddresses(view: View, subnet: string): RouterAddresses | undefined {
  const net = servedNet(view, subnet);
  if (net === undefined || !hasRouterPort(net)) return undefined;
  if (routingInForce(net) !== 'u2o') return { net, ips: gatewaysOf(net) };
  const allocation = u2oAllocation(view, subnet);
  return allocation && { net, ips: ipsOf(allocation), mac: allocation.mac };
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
