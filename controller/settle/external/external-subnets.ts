/** Which Subnets outside a VPC names, and which of them its router has a port in. */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { externalSubnet, label, routerSwitchPort } from '../../../lib/api/names.ts';
import type { Node, Vpc } from '../../model/objects.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { configuredNodes, isExternal } from './external-config.ts';
import { natGatewaysOf } from './nat-gateways.ts';

/** Those that the Vpc itself names, in order. `external` may be missing where others are named. */
function namedByVpc(view: Pick<View, 'subnets' | 'externalConfigs'>, vpc: Vpc | undefined): readonly string[] {
  if (vpc === undefined || !isExternal(view, vpc)) return [];
  const { extraExternalSubnets: others } = vpc.spec;
  const isMeant = others.length === 0 || view.subnets.has(externalSubnet);
  return [...new Set([...(isMeant ? [externalSubnet] : []), ...others])];
}

/** Those that the Vpc names, then those of its VpcNatGateways. The first that is served is the way out. */
export function externalSubnetsOf(view: View, vpc: Vpc | undefined): readonly string[] {
  if (vpc === undefined) return [];
  const others = natGatewaysOf(view, vpc.name).flatMap(({ spec }) => spec.externalSubnets);
  return [...new Set([...namedByVpc(view, vpc), ...others])];
}

/** VPCs that name a Subnet outside, themselves or by a VpcNatGateway; all that name any for an empty text. */
export function* vpcsNaming({ indexes, vpcNatGateways }: View, subnet: string): Generator<string> {
  yield* indexes.vpcsByExternalSubnet.of(subnet);
  for (const name of indexes.natGatewaysByExternalSubnet.of(subnet)) {
    const vpc = vpcNatGateways.get(name)?.spec.vpc;
    if (vpc !== undefined) yield vpc;
  }
}

/** Which nodes may hold the port of a VPC in a Subnet outside: those with the label of gateways or in Kube-OVN's ConfigMap, or those that a VpcNatGateway selects. */
export function mayHold(view: View, vpc: string, subnet: string): (node: Node) => boolean {
  const naming = natGatewaysOf(view, vpc).filter(({ spec }) => spec.externalSubnets.includes(subnet));
  const isByLabel =
    naming.some(({ spec }) => spec.nodeSelectors.length === 0) || namedByVpc(view, view.vpcs.get(vpc)).includes(subnet);
  const selectors = naming.flatMap(({ spec }) => spec.nodeSelectors);
  const named = configuredNodes(view, vpc);
  return ({ name, labels }) =>
    (isByLabel && (labels[label.externalGateway] === 'true' || named.has(name))) ||
    selectors.some((selector) => matchesSelector(selector, labels));
}

export function gatewayPortKey(vpc: string, subnet: string): string {
  return `${vpc}/${subnet}`;
}

/** The ports of a VPC's router outside, in order, those with a problem among them. */
export function gatewayPortsOf(view: View, vpc: string): readonly GatewayPort[] {
  const names = externalSubnetsOf(view, view.vpcs.get(vpc));
  return names.flatMap((subnet) => view.gatewayPorts.get(gatewayPortKey(vpc, subnet)) ?? []);
}

/** `a/b-c` and `a-b/c`, of a name such as `a-b-c`. */
export function* splitsOf(name: string): Generator<readonly [vpc: string, subnet: string]> {
  for (let at = name.indexOf('-'); at >= 0; at = name.indexOf('-', at + 1))
    yield [name.slice(0, at), name.slice(at + 1)];
}

/** The name of a router's port, and of the OvnEip with its address. */
export function gatewayPortName({ vpc, subnet }: Pick<GatewayPort, 'vpc' | 'subnet'>): string {
  return routerSwitchPort(vpc, subnet);
}

/** The port whose address an OvnEip of this name is, if the router has one there. */
export function gatewayPortNamed(view: Pick<View, 'gatewayPorts'>, name: string): GatewayPort | undefined {
  for (const [vpc, subnet] of splitsOf(name)) {
    const port = view.gatewayPorts.get(gatewayPortKey(vpc, subnet));
    if (port?.isPlaced === true) return port;
  }
  return undefined;
}
