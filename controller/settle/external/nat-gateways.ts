/**
 * VpcNatGateways: which of them connect the router of their VPC with Subnets outside. In: the objects, and the owners of their `lanIp`. Rule: a gateway
 * whose `lanIp` another object has connects nothing, because that object, such as the pod of a former Kube-OVN, may be the gateway. Pure.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Change } from '../../model/change.ts';
import type { VpcNatGateway } from '../../model/external-objects.ts';
import { natGatewayPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';

function lanProblem(view: View, { name, spec }: VpcNatGateway): Problem | undefined {
  const { vpc, subnet, lanIp } = spec;
  if (lanIp === '') return undefined;
  if (subnet === '')
    return { code: 'SubnetMissing', message: 'spec.subnet is needed with spec.lanIp: name the Subnet of the address' };
  const of = view.verdicts.get(subnet)?.vpc;
  if (of !== undefined && of !== vpc)
    return {
      code: 'VpcMismatch',
      message: `spec.subnet: Subnet ${subnet} is of Vpc ${of}, not of Vpc ${vpc}: name a Subnet of the Vpc, or remove spec.lanIp`,
    };
  const port = natGatewayPort(name);
  if (view.allocation(port) !== undefined) return undefined;
  const { code, message } = view.addressProblem(port) ?? {
    code: 'SubnetNotReady',
    message: `Subnet ${subnet} does not exist or is not in force`,
  };
  return {
    code,
    message: `spec.lanIp: ${message}; if the pod of a NAT gateway of Kube-OVN has the address, delete its StatefulSet: this gateway takes over then`,
  };
}

/** Why a VpcNatGateway connects nothing. */
export function natGatewayProblem(view: View, gateway: VpcNatGateway): Problem | undefined {
  const { vpc } = gateway.spec;
  if (!view.vpcs.has(vpc)) return { code: 'VpcNotFound', message: `spec.vpc: Vpc ${vpc} does not exist: create it` };
  return lanProblem(view, gateway);
}

/** The VpcNatGateways whose problem depends on the change. */
export function* natGatewaysReading(change: Change, view: View): Generator<string> {
  const { kind, name } = change;
  if (kind === 'vpcNatGateways') yield name;
  else if (kind === 'ports' && name.startsWith(natGatewayPort(''))) yield name.slice(natGatewayPort('').length);
  else if (kind === 'vpcs') {
    if ((change.before === undefined) !== (change.after === undefined)) yield* view.indexes.natGatewaysByVpc.of(name);
  } else if (kind === 'verdicts') {
    for (const gateway of view.vpcNatGateways.values()) if (gateway.spec.subnet === name) yield gateway.name;
  }
}

/** One that is being deleted stays while addresses are its own. */
function isLeaving(view: View, { name, isDeleting }: VpcNatGateway): boolean {
  return isDeleting && [...view.indexes.eipsByNatGateway.of(name)].length === 0;
}

/** Those of a VPC that connect it, the oldest first. */
export function natGatewaysOf(view: View, vpc: string): readonly VpcNatGateway[] {
  const all = [...view.indexes.natGatewaysByVpc.of(vpc)].flatMap((name) => view.vpcNatGateways.get(name) ?? []);
  return all
    .filter((gateway) => !isLeaving(view, gateway) && natGatewayProblem(view, gateway) === undefined)
    .sort(byAge);
}

/** Addresses inside of VpcNatGateways whose first Subnet outside this is, in canonical form. */
export function lanIpsOf(view: View, vpc: string, subnet: string): readonly string[] {
  const all = natGatewaysOf(view, vpc).filter(({ spec }) => spec.externalSubnets[0] === subnet);
  return all.flatMap(({ spec }) => {
    const lanIp = parseIp(spec.lanIp);
    return lanIp === undefined ? [] : [formatIp(lanIp)];
  });
}
