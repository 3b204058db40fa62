/** Decides whether the router of a VPC has a port in a Subnet outside, and which nodes may hold it. Pure. */
import { egressGatewaysOf } from '../egress/of-vpc.ts';
import { defaultVpc, label } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { routingInForce } from '../../model/net-in-force.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import type { Vpc } from '../../model/objects.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { overlapOf } from '../vpc/judge-peerings.ts';
import { hasRouter, routedSubnetsOf, routeTableOf } from '../vpc/routers.ts';
import { userDefaults } from '../vpc/user-defaults.ts';
import { externalSubnetsOf, gatewayPortName, splitsOf } from './external-subnets.ts';
import { exitsOf, familiesOf, upstreamsOf } from './exits.ts';
import { orderNodes } from './gateway-order.ts';
import { lanIpsOf } from './nat-gateways.ts';

const routedText = {
  u2o: 'spec.u2oInterconnection joins it with the overlay',
  logicalGateway: 'spec.logicalGateway makes a router of OVN its gateway',
  overlay: 'it is in no VLAN',
} as const;

function obstacle(code: string, message: string): Problem {
  return { code, message };
}

/** Why a Subnet, which an object names in `field`, cannot be outside. */
export function subnetProblem(view: View, name: string, field: string): Problem | undefined {
  const subnet = view.subnets.get(name);
  if (subnet === undefined)
    return obstacle(
      'NoExternalSubnet',
      `Subnet ${name} does not exist: create it in a Vlan, or name another in ${field}`,
    );
  const net = servedNet(view, name);
  if (net === undefined) return obstacle('NoExternalSubnet', `Subnet ${name} is not in force: see its conditions`);
  const routing = routingInForce(net);
  if (routing !== 'physical' && routing !== 'nodes')
    return obstacle(
      'NoExternalSubnet',
      `Subnet ${name} is not outside: ${routedText[routing]}; name a Subnet in a Vlan whose gateway is a router of the physical network, or each node (routedByNodes of a ProviderNetwork)`,
    );
  return undefined;
}

/** Why the name of the port, which is that of an OvnEip, is not free. */
function nameProblem(view: View, vpc: Vpc, subnet: string): Problem | undefined {
  const name = gatewayPortName({ vpc: vpc.name, subnet });
  const eip = view.ovnEips.get(name);
  if (eip !== undefined && eip.spec.type !== 'lrp')
    return obstacle(
      'NameConflict',
      `OvnEip ${name} is of type ${eip.spec.type || 'nat'}, and the address of the router needs this name: delete it`,
    );
  if (eip !== undefined && eip.spec.externalSubnet !== subnet)
    return obstacle('NameConflict', `OvnEip ${name} is not of Subnet ${subnet}: delete it`);
  for (const [otherVpc, otherSubnet] of splitsOf(name)) {
    const other = otherVpc === vpc.name ? undefined : view.vpcs.get(otherVpc);
    const isPort = other !== undefined && externalSubnetsOf(view, other).includes(otherSubnet) && byAge(other, vpc) < 0;
    if (
      isPort ||
      (view.verdicts.get(otherSubnet)?.vpc === otherVpc &&
        servedNet(view, otherSubnet) !== undefined &&
        !isOwn(vpc, subnet, otherVpc, otherSubnet))
    )
      return obstacle(
        'NameConflict',
        `the router port ${name} would be that of Vpc ${otherVpc} in Subnet ${otherSubnet}: rename one of them`,
      );
  }
  return undefined;
}

/** A Subnet outside may itself be of the VPC: its router has no other port there. */
function isOwn(vpc: Vpc, subnet: string, otherVpc: string, otherSubnet: string): boolean {
  return vpc.name === otherVpc && subnet === otherSubnet;
}

export function overlapProblem(view: View, vpc: Vpc, net: NetInForce): Problem | undefined {
  for (const part of [net.v4, net.v6]) {
    const overlap = part && overlapOf(view, vpc, '', part.cidr);
    if (part !== undefined && overlap !== undefined)
      return obstacle(
        'CIDROverlap',
        `${formatCidr(part.cidr)} of the Subnet overlaps ${overlap}: the router of Vpc ${vpc.name} cannot have a port in both; use another network`,
      );
  }
  return undefined;
}

/** Without the exits, which depend on the other ports of the VPC. `before`: the chassis of the port until now, in order. */
export function judgeGatewayPort(view: View, vpc: Vpc, subnet: string, before: readonly string[]): GatewayPort {
  const lanIps = lanIpsOf(view, vpc.name, subnet);
  const absent = {
    nodes: [],
    isPlaced: false,
    exitOf: [],
    reserveOf: [],
    upstreams: [],
    isOnlyExit: false,
    detours: [],
  };
  const none = { vpc: vpc.name, subnet, lanIps, ...absent };
  const net = servedNet(view, subnet);
  const problem =
    subnetProblem(view, subnet, 'spec.extraExternalSubnets') ??
    nameProblem(view, vpc, subnet) ??
    (net && overlapProblem(view, vpc, net));
  if (problem !== undefined || net?.underlay === undefined) return { ...none, ...(problem && { problem }) };
  const { provider } = net.underlay;
  const nodes = orderNodes(view, { vpc: vpc.name, subnet, provider, before });
  if (nodes.length > 0) return { ...none, nodes, upstreams: upstreamsOf(view, vpc, subnet), isPlaced: true };
  const message = `no node can hold the port of Vpc ${vpc.name} in Subnet ${subnet}: give nodes that have ProviderNetwork ${provider} the label ${label.externalGateway}=true, or the labels of spec.selector of the VpcNatGateway`;
  return { ...none, isPlaced: true, problem: obstacle('NoGatewayNode', message) };
}

/** Networks with a default route of the user in their own route table. */
function detoursOf(view: View, vpc: string, taken: ReadonlySet<string>): readonly string[] {
  if (taken.size === 0) return [];
  return routedSubnetsOf(view, vpc).flatMap((name) => {
    const net = servedNet(view, name);
    const table = routeTableOf(view, name);
    const parts = [net?.v4, net?.v6].filter((part) => part !== undefined);
    return parts.flatMap(({ cidr }) =>
      table !== '' && taken.has(`${table}/${cidr.family}`) ? [formatCidr(cidr)] : [],
    );
  });
}

/** The ports of one VPC, in order, with their exits. */
export function withExits(view: View, vpc: string, ports: readonly GatewayPort[]): readonly GatewayPort[] {
  const taken = userDefaults(view, vpc);
  const detours = detoursOf(view, vpc, taken);
  const usable = ports.filter(({ problem }) => problem === undefined);
  const exits = ([4, 6] as const)
    .filter((family) => vpc !== defaultVpc && !taken.has(`/${family}`))
    .map((family) => exitsOf(view, vpc, family, ports));
  const familiesBy = (port: GatewayPort, as: 'first' | 'reserve'): readonly Family[] =>
    exits.flatMap((exit) => (exit[as] === port ? [exit.family] : []));
  return ports.map((port) => {
    const exitOf = familiesBy(port, 'first');
    const isWhole = exitOf.length > 0 && exitOf.length === familiesOf(view, port).length;
    // A VpcEgressGateway is another way out, which packets of rules must not take.
    const isOnlyExit = usable.length === 1 && isWhole && egressGatewaysOf(view, vpc).length === 0;
    return { ...port, exitOf, reserveOf: familiesBy(port, 'reserve'), isOnlyExit, detours };
  });
}

/** The VPC's Subnets outside, if it has a router. */
export function placesOutside(view: View, name: string): readonly string[] {
  return hasRouter(view, name) ? externalSubnetsOf(view, view.vpcs.get(name)) : [];
}
