import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { Change } from '../../model/change.ts';
import { hasLogicalGateway } from '../../model/net-in-force.ts';
import type { Verdict } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { lanPort } from '../../settle/external/lan-routes.ts';
import { isReachable, networksOf } from '../../settle/vpc/next-hops.ts';
import { readStaticRoutes } from '../../settle/vpc/static-routes.ts';
import { noteOn } from '../../settle/subnet/accepted-note.ts';
import { isSameSpec } from '../subnet/spec-change.ts';

/** Whether the gateway is one of the physical network. */
export function isPhysical(verdict: Verdict | undefined): boolean {
  return verdict !== undefined && !hasLogicalGateway(verdict.net);
}

/** Subnets that may be joined with the overlay. */
export function* physicalSubnets(view: View): Generator<string> {
  for (const name of view.subnetsInVlans) if (isPhysical(view.verdicts.get(name))) yield name;
}

/** Whether a change may affect the networks that the router of a VPC reaches. */
export function isOfNetworks(change: Change): boolean {
  if (change.kind === 'subnets') return !isSameSpec(change);
  return ['verdicts', 'vpcs', 'transitSwitches', 'remoteClusters'].includes(change.kind);
}

/** Whether the spec or the note of a Subnet changed: its router may have other addresses. */
export function isRewritten(change: Change): boolean {
  if (change.kind !== 'subnets') return false;
  const [was, is] = [change.before && noteOn(change.before), change.after && noteOn(change.after)];
  return !isSameSpec(change) || was !== is;
}

/** Networks that the router of a VPC reaches by its own routes, as canonical texts, sorted and each once. */
export function ownCidrs(view: View, vpc: string, family: Family): readonly string[] {
  const networks = networksOf(view, vpc);
  const ports = gatewayPortsOf(view, vpc);
  const routes = readStaticRoutes(view.vpcs.get(vpc)?.spec).routes.filter(
    ({ policy, prefix, nextHop }) =>
      policy === 'dst-ip' &&
      prefix.prefix > 0 &&
      isReachable(networks, nextHop) &&
      // By a VpcNatGateway a network is outside.
      lanPort(ports, nextHop) === undefined,
  );
  const remote = [...view.remoteClusters.values()].flatMap((cluster) =>
    cluster.routes.filter(({ transitSwitch }) => view.transitSwitches.get(transitSwitch)?.vpc === vpc),
  );
  const all = [...networks, ...routes.map(({ prefix }) => prefix), ...remote.map(({ cidr }) => cidr)];
  const own = all.filter((cidr) => cidr.family === family && cidr.prefix > 0);
  return [...new Set(own.map(formatCidr))].sort();
}
