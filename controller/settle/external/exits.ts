/**
 * By which of its ports outside a VPC leaves, in each family. In: the ports in order, and what is known of the routers behind them. Out: the
 * port that is the way out, and the one that takes over when its router dies. Rules: a router that never answered by BFD counts as alive, since
 * not every router speaks BFD; one that fell silent is the last choice; if all did, the first port stays the way out, whatever its session
 * says. Pure.
 */
import type { Family } from '../../../lib/net/ip.ts';
import type { Vpc } from '../../model/objects.ts';
import { upstreamKey } from '../../model/ovn-names.ts';
import type { GatewayPort, Upstream } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import { gatewayPortName } from './external-subnets.ts';
import { inOrderOfExit } from './lan-routes.ts';

export interface Exits {
  readonly family: Family;
  readonly first: GatewayPort | undefined;
  /** Present only where OVN itself finds out that the router of the first one is dead. */
  readonly reserve: GatewayPort | undefined;
}

/** The families of the Subnet that a port is in. */
export function familiesOf(view: View, { subnet }: Pick<GatewayPort, 'subnet'>): readonly Family[] {
  const net = servedNet(view, subnet);
  return [net?.v4, net?.v6].flatMap((part) => (part === undefined ? [] : [part.cidr.family]));
}

/** The routers outside that the VPC watches from its port in a Subnet. */
export function upstreamsOf(view: View, { name, spec }: Vpc, subnet: string): readonly Upstream[] {
  if (!spec.enableBfd) return [];
  const net = servedNet(view, subnet);
  return [net?.v4, net?.v6].flatMap((part) => {
    if (part === undefined) return [];
    const address = gatewayIp(part);
    const state = view.upstreams.get(upstreamKey(gatewayPortName({ vpc: name, subnet }), address)) ?? 'silent';
    return [{ family: part.cidr.family, address, state }];
  });
}

/** The router outside of a port in a family, if the VPC watches it. */
export function upstreamOf({ upstreams }: Pick<GatewayPort, 'upstreams'>, family: Family): Upstream | undefined {
  return upstreams.find((one) => one.family === family);
}

export function exitsOf(view: View, vpc: string, family: Family, ports: readonly GatewayPort[]): Exits {
  // A port is named twice where two VpcNatGateways have it.
  const usable = [...new Set(inOrderOfExit(view, vpc, family, ports))].filter(
    (port) => port.problem === undefined && familiesOf(view, port).includes(family),
  );
  const isDead = (port: GatewayPort): boolean => upstreamOf(port, family)?.state === 'down';
  const [first, second] = [...usable.filter((port) => !isDead(port)), ...usable.filter(isDead)];
  const isWatched = first !== undefined && upstreamOf(first, family)?.state === 'up';
  return { family, first, reserve: isWatched ? second : undefined };
}
