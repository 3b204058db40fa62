/** VpcNatGateways: the addresses inside that routes of users name, which no pod may get. */
import { byAge } from '../../../../lib/desired/rights.ts';
import { parseIp } from '../../../../lib/net/ip.ts';
import type { VpcNatGateway } from '../../../model/external-objects.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import { natGatewayPort } from '../../../model/ovn-names.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant, PortWant } from '../claims.ts';
import { recordOfNatGateway } from '../records.ts';
import type { HolderKind } from './kind.ts';

function requestOf({ spec }: VpcNatGateway): PortWant['request'] {
  const lanIp = parseIp(spec.lanIp);
  if (lanIp === undefined)
    return { problem: { code: 'InvalidAddress', message: `spec.lanIp: '${spec.lanIp}' is not an IP address` } };
  return { value: { subnets: [spec.subnet], addresses: [lanIp], families: [lanIp.family] } };
}

/** One that is being deleted keeps its address until its addresses outside are gone, also over a restart, but gets none. */
function claimant(view: View, name: string): Claimant | undefined {
  const gateway = view.vpcNatGateways.get(name);
  if (gateway === undefined || gateway.spec.lanIp === '' || gateway.spec.subnet === '') return undefined;
  // An address of another VPC is none of its own.
  const of = view.verdicts.get(gateway.spec.subnet)?.vpc;
  if (of !== undefined && of !== gateway.spec.vpc) return undefined;
  const port = natGatewayPort(name);
  const { uid, createdMs, isDeleting } = gateway;
  if (isDeleting && view.allocation(port) === undefined && recordOfNatGateway(gateway) === undefined) return undefined;
  return {
    uid,
    createdMs,
    name,
    holder: uid,
    wants: [{ port, interface: defaultInterface, request: requestOf(gateway) }],
  };
}

export const natGatewayHolder: HolderKind = {
  prefix: 'nat-gateway',
  all: (view) => view.vpcNatGateways.keys(),
  concerns(change, view) {
    if (change.kind === 'vpcNatGateways') return [change.name];
    if (change.kind !== 'verdicts' || change.before?.vpc === change.after?.vpc) return [];
    return [...view.vpcNatGateways.values()].flatMap(({ name, spec }) => (spec.subnet === change.name ? [name] : []));
  },
  claimant,
  *recorded(view) {
    for (const gateway of [...view.vpcNatGateways.values()].sort(byAge))
      yield { name: gateway.name, port: natGatewayPort(gateway.name), record: recordOfNatGateway(gateway) };
  },
  followsRequest: true,
};
