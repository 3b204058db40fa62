/**
 * Decides which VpcDns of a VPC is in force, and what keeps one from it. In: a VpcDns, those of the same VPC, Subnets, peerings, the two
 * Services. Rule: of several the one that is in force stays, of new ones the older is first. What the database has follows from the statuses.
 */
import { defaultCorefile, defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { serviceKey } from '../../../lib/services/service.ts';
import {
  apiService,
  apiTargets,
  dnsService,
  dnsTargets,
  gateNetwork,
  gateTargets,
  type GateTarget,
} from '../../../lib/services/gate.ts';
import { vipId } from '../../../lib/services/vips.ts';
import type { Change } from '../../model/change.ts';
import { vpcNameOf, type VpcDns } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { overlapOf } from '../vpc/judge-peerings.ts';
import { hasRouter } from '../vpc/routers.ts';

const keys = { dns: serviceKey(dnsService), api: serviceKey(apiService) };

function isGateService(key: string): boolean {
  return key === keys.dns || key === keys.api;
}

/** What is wrong with the object itself. */
function flawOf(view: View, { spec }: VpcDns): Problem | undefined {
  if (spec.vpc === '' || spec.vpc === defaultVpc) {
    const message = `spec.vpc: pods of ${defaultVpc} reach DNS and the API server as Services: name another Vpc`;
    return { code: 'VpcInvalid', message };
  }
  if (spec.corefile !== '' && spec.corefile !== defaultCorefile) {
    const message = `spec.corefile: a DNS server with ConfigMap ${spec.corefile} is not supported: queries go to Service ${keys.dns}, configure that and remove spec.corefile`;
    return { code: 'CorefileNotSupported', message };
  }
  if (spec.subnet === '') return undefined;
  const subnet = view.subnets.get(spec.subnet);
  if (subnet === undefined) {
    const message = `spec.subnet: Subnet ${spec.subnet} does not exist: create it, or remove the field`;
    return { code: 'SubnetNotFound', message };
  }
  const vpc = vpcNameOf(subnet.spec);
  if (vpc === spec.vpc) return undefined;
  const message = `spec.subnet: Subnet ${spec.subnet} is in Vpc ${vpc}: name a Subnet of ${spec.vpc}, or remove the field`;
  return { code: 'SubnetInOtherVpc', message };
}

/** The VpcDns that has the right to a VPC; others have a flaw, or are later. */
function holderOf(view: View, vpc: string): VpcDns | undefined {
  const all = [...view.indexes.vpcDnsesByVpc.of(vpc)].flatMap((name) => view.vpcDnses.get(name) ?? []);
  const candidates = all.filter((dns) => !dns.isDeleting && flawOf(view, dns) === undefined);
  return candidates.sort(byRight(unlessRefused()))[0];
}

/** Why the spec is refused. */
export function refusalOfDns(view: View, dns: VpcDns): Problem | undefined {
  const flaw = flawOf(view, dns);
  if (flaw !== undefined) return flaw;
  const holder = holderOf(view, dns.spec.vpc);
  if (holder === undefined || holder.name === dns.name) return undefined;
  const message = `spec.vpc: VpcDns ${holder.name} serves Vpc ${dns.spec.vpc} and had it before: delete one of the two`;
  return { code: 'VpcInUse', message };
}

/** What keeps the gate from being there although the spec is valid. */
export function obstacleOfDns(view: View, { spec }: VpcDns): Problem | undefined {
  if (!view.capabilities.loadBalancers) {
    const message = 'load balancers are off in this cluster: start the controller with --enable-lb=true';
    return { code: 'NotSupported', message };
  }
  const vpc = view.vpcs.get(spec.vpc);
  if (vpc === undefined || !hasRouter(view, spec.vpc))
    return { code: 'VpcNotFound', message: `spec.vpc: Vpc ${spec.vpc} does not exist: create it` };
  for (const { cidr: text } of Object.values(gateNetwork)) {
    const cidr = parseCidr(text);
    const overlap = cidr && overlapOf(view, vpc, '', cidr);
    if (overlap === undefined) continue;
    const message = `the network of the gates, ${text}, overlaps ${overlap}: choose another network for that`;
    return { code: 'NetworkInUse', message };
  }
  return undefined;
}

/** The Services that are missing, so that only the other is served. */
export function missingService(view: View): Problem | undefined {
  const isThere = dnsTargets(view.services.get(keys.dns)).length > 0;
  if (!isThere) {
    const message = `Service ${keys.dns} has no ClusterIP with port 53: install the DNS of the cluster`;
    return { code: 'DnsServiceNotFound', message };
  }
  if (apiTargets(view.services.get(keys.api)).length > 0) return undefined;
  return { code: 'ApiServiceNotFound', message: `Service ${keys.api} does not exist: the API server creates it` };
}

export function gateTargetsIn(view: View): readonly GateTarget[] {
  return gateTargets(view.services.get(keys.dns), view.services.get(keys.api));
}

/**
 * The VpcDns that has a virtual address, as `vipId` names it, in a VPC. The API server gave the address to a Service that pods trust, so no older
 * Service of the VPC keeps it as an external IP.
 */
export function dnsWithVip(view: View, vpc: string, vip: string): string | undefined {
  const holder = holderOf(view, vpc);
  if (holder === undefined) return undefined;
  const isServed = gateTargetsIn(view).some(
    ({ protocol, address, port }) => vipId({ protocol, address, port: { port } }) === vip,
  );
  return isServed ? holder.name : undefined;
}

/** VPCs in which a change decides anew which virtual addresses a VpcDns has. */
export function* vpcsOfDnsChange(change: Change, view: View): Generator<string> {
  if (change.kind === 'vpcDnses') for (const dns of [change.before, change.after]) yield dns?.spec.vpc ?? '';
  else if (change.kind === 'services' && isGateService(change.name))
    for (const { spec } of view.vpcDnses.values()) yield spec.vpc;
  else if (change.kind === 'subnets')
    for (const name of view.indexes.vpcDnsesBySubnet.of(change.name)) yield view.vpcDnses.get(name)?.spec.vpc ?? '';
}
