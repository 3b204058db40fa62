/** Which Subnets outside a VPC names, and which of them its router has a port in. */
import { externalSubnet, routerSwitchPort } from '../../../lib/api/names.ts';
import type { Vpc } from '../../model/objects.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { isExternal } from './external-config.ts';

/** In order: the first that is served is the way out. `external` may be missing where others are named. */
export function externalSubnetsOf(
  view: Pick<View, 'subnets' | 'externalConfigs'>,
  vpc: Vpc | undefined,
): readonly string[] {
  if (vpc === undefined || !isExternal(view, vpc)) return [];
  const { extraExternalSubnets: others } = vpc.spec;
  const isMeant = others.length === 0 || view.subnets.has(externalSubnet);
  return [...new Set([...(isMeant ? [externalSubnet] : []), ...others])];
}

export function gatewayPortKey(vpc: string, subnet: string): string {
  return `${vpc}/${subnet}`;
}

/** The ports of a VPC's router outside, in order, those with a problem among them. */
export function gatewayPortsOf(
  view: Pick<View, 'subnets' | 'vpcs' | 'gatewayPorts' | 'externalConfigs'>,
  vpc: string,
): readonly GatewayPort[] {
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
