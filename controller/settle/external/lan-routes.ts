/**
 * Routes of a Vpc to the `lanIp` of a VpcNatGateway. No port has this address: the router itself is the gateway, and such a route leads to
 * the gateway of the first Subnet outside of the VpcNatGateway. Pure.
 */
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import { readStaticRoutes } from '../vpc/static-routes.ts';
import type { Route } from '../vpc/static-routes.ts';
import { gatewayPortsOf } from './external-subnets.ts';

/** The port by which packets leave whose next hop is a VpcNatGateway; undefined if it is something else. */
export function lanPort(ports: readonly GatewayPort[], nextHop: Ip): GatewayPort | undefined {
  const text = formatIp(nextHop);
  return ports.find(({ lanIps }) => lanIps.includes(text));
}

/** Where a next hop leads; undefined if it is a VpcNatGateway by which packets cannot leave now. */
export function nextHopOf(view: View, vpc: string, nextHop: Ip): Ip | undefined {
  const port = lanPort(gatewayPortsOf(view, vpc), nextHop);
  if (port === undefined) return nextHop;
  const net = port.problem === undefined ? servedNet(view, port.subnet) : undefined;
  const part = nextHop.family === 4 ? net?.v4 : net?.v6;
  return part && parseIp(gatewayIp(part));
}

export function isDefaultRoute({ prefix, policy }: Route): boolean {
  return prefix.prefix === 0 && policy === 'dst-ip';
}

/**
 * The ports in the order in which they may be the way out for a family. Where default routes of the user lead to VpcNatGateways, only theirs:
 * while these have no port, packets do not leave by another network.
 */
export function inOrderOfExit(
  view: View,
  vpc: string,
  family: Family,
  ports: readonly GatewayPort[],
): readonly GatewayPort[] {
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const named = routes
    .filter((route) => isDefaultRoute(route) && route.table === '' && route.prefix.family === family)
    .flatMap(({ nextHop }) => lanPort(ports, nextHop) ?? []);
  return named.length > 0 ? named : ports;
}
