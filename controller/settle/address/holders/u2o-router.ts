/** Routers of VPCs in underlay subnets, beside the physical gateway. */
import { routerSwitchPort, u2oPortName, u2oPortPrefix } from '../../../../lib/api/names.ts';
import { deriveMac } from '../../../../lib/net/mac.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import { routingInForce } from '../../../model/net-in-force.ts';
import { vpcNameOf } from '../../../model/objects.ts';
import type { IpObject } from '../../../model/objects.ts';
import { routerMacSpace } from '../../../model/ovn-names.ts';
import type { View } from '../../../model/view.ts';
import { u2oAllocation } from '../../underlay/u2o-allocation.ts';
import type { Claimant } from '../claims.ts';
import { parseAddresses } from '../port-request.ts';
import { recordOfIp } from '../records.ts';
import type { HolderKind } from './kind.ts';

/** The router of an underlay subnet's VPC has its own address there, as long as any other port has one. */
function u2oClaimant(view: View, name: string): Claimant | undefined {
  const subnet = view.subnets.get(name);
  const verdict = view.verdicts.get(name);
  if (subnet === undefined || verdict === undefined || routingInForce(verdict.net) !== 'u2o') return undefined;
  const port = u2oPortName(verdict.vpc, name);
  const isLast = [...(view.pool(name)?.allocations().keys() ?? [])].every((other) => other === port);
  if (subnet.isDeleting && isLast) return undefined;
  const text = subnet.spec.u2oInterconnectionIP;
  const addresses = text === '' ? undefined : parseAddresses(text);
  // The MAC address stays when the addresses change, because it is in the neighbour tables of pods.
  const mac = u2oAllocation(view, name)?.mac ?? deriveMac(routerMacSpace, routerSwitchPort(verdict.vpc, name));
  const request = {
    value: { subnets: [name], mac, isRouter: true, ...(addresses === undefined ? {} : { addresses }) },
  };
  const { uid, createdMs } = subnet;
  return { uid, createdMs, name, holder: uid, wants: [{ port, interface: defaultInterface, request }] };
}

/** The underlay subnet whose router an IP object is about. */
function subnetOf(ip: IpObject | undefined): readonly string[] {
  const isOfRouter = ip?.spec.podName === '' && ip.name.startsWith(u2oPortPrefix);
  return isOfRouter ? [ip.spec.subnet] : [];
}

export const u2oRouterHolder: HolderKind = {
  prefix: 'u2o',
  all: (view) => new Set([...view.subnets.keys(), ...[...view.ips.values()].flatMap(subnetOf)]),
  concerns(change, view) {
    if (change.kind === 'subnets' || change.kind === 'verdicts') return [change.name];
    if (change.kind === 'ips') return subnetOf(change.after ?? change.before);
    // The router's port is the last one to be released in a subnet that is being deleted.
    return change.kind === 'usage' && view.subnets.get(change.name)?.isDeleting === true ? [change.name] : [];
  },
  claimant: u2oClaimant,
  *recorded({ subnets, ips }) {
    for (const [name, { spec }] of subnets) {
      const port = u2oPortName(vpcNameOf(spec), name);
      yield { name, port, record: recordOfIp(ips.get(port)) };
    }
  },
  ipSubject: () => ({ podName: '', namespace: '', nodeName: '', podType: '' }),
  followsRequest: true,
  followsSubnet: true,
};
