import { defaultVpc } from '../../../lib/api/names.ts';
import { hasRouterPort } from '../../model/net-in-force.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';

/** Subnets of a VPC that have rows, by name. */
export function subnetsOf(view: View, vpc: string): readonly string[] {
  return view.servedSubnets(vpc);
}

/** Subnets of a VPC in which the router has a port. */
export function routedSubnetsOf(view: View, vpc: string): readonly string[] {
  return subnetsOf(view, vpc).filter((name) => {
    const net = servedNet(view, name);
    return net !== undefined && hasRouterPort(net);
  });
}

/** A router is removed with the last of its subnets. The default router stays whatever happens to its Vpc. */
export function hasRouter(view: View, name: string): boolean {
  const vpc = view.vpcs.get(name);
  return name === defaultVpc || vpc?.isDeleting === false || subnetsOf(view, name).length > 0;
}

/** The table in which routes for packets from a Subnet are looked up; empty is the main one. */
export function routeTableOf(view: View, subnet: string): string {
  return view.subnets.get(subnet)?.spec.routeTable ?? '';
}

/** Tables that packets from subnets of the default VPC are routed by. */
export function tablesOf(view: View): ReadonlySet<string> {
  const tables = new Set(['']);
  for (const subnet of routedSubnetsOf(view, defaultVpc)) tables.add(routeTableOf(view, subnet));
  return tables;
}
