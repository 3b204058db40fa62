import { defaultVpc } from '../../../lib/api/names.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../external/external-subnets.ts';
import { servedNet } from '../subnet/served-net.ts';
import { peeringsOf } from './judge-peerings.ts';
import { routedSubnetsOf } from './routers.ts';

/** Networks a router has a port in: those of its subnets, of links to peers, outside, and in the default VPC between clusters. */
export function networksOf(view: View, vpc: string): readonly Cidr[] {
  const subnets = routedSubnetsOf(view, vpc).flatMap((name) => {
    const net = servedNet(view, name);
    return [net?.v4, net?.v6].flatMap((part) => (part === undefined ? [] : [part.cidr]));
  });
  const links = peeringsOf(view, vpc).flatMap(({ link }) => link?.map(({ cidr }) => cidr) ?? []);
  const transits = vpc === defaultVpc ? [...view.transitSwitches.values()].flatMap(({ cidrs }) => cidrs) : [];
  const outside = gatewayPortsOf(view, vpc).filter(({ problem }) => problem === undefined);
  const networks = outside.flatMap(({ subnet }) => {
    const net = servedNet(view, subnet);
    return [net?.v4, net?.v6].flatMap((part) => (part === undefined ? [] : [part.cidr]));
  });
  return [...subnets, ...links, ...transits, ...networks];
}

export function isReachable(networks: readonly Cidr[], ip: Ip): boolean {
  return networks.some((cidr) => cidrContains(cidr, ip));
}
