import { defaultVpc, joinSubnet, routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { throughEmptyTiers } from '../acl-tier/empty-tiers.ts';
import type { Feature } from '../feature.ts';
import { gatewayStatusReads } from '../gateway/status.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import type { View } from '../view.ts';
import { proxiedAddresses } from '../vip/virtual-port.ts';
import { formerGateways } from './former-gateways.ts';
import { privateRows } from './private.ts';
import { readRouterAdvert } from './router-advert.ts';
import { gatewayIp } from './subnet-net.ts';

/** First octet of router ports' MAC addresses; ports of pods and nodes have another. */
export const routerMacSpace = 0x06;

/** The network of a subnet that has rows: in force, and not one that is deleted and empty. */
export function servedNet(view: View, name: string): SubnetNet | undefined {
  const isLeaving = view.subnets.get(name)?.isDeleting === true && (view.pool(name)?.allocations().size ?? 0) === 0;
  return isLeaving ? undefined : view.verdicts.get(name)?.net;
}

/** Addresses of the router's port: the gateways, and those that pods were set up with before. */
function networksOf(view: View, name: string, parts: readonly FamilyNet[]): readonly string[] {
  const former = formerGateways(view, name);
  return parts.flatMap((part) => {
    const { family, prefix } = part.cidr;
    const others = former.filter(({ ip }) => ip.family === family).map(({ ip }) => formatIp(ip));
    return [gatewayIp(part), ...others].map((ip) => `${ip}/${prefix}`);
  });
}

function routerPort(view: View, name: string, vpc: string, net: SubnetNet): DesiredRow {
  const port = routerSwitchPort(vpc, name);
  const parts = [net.v4, net.v6].filter((part) => part !== undefined);
  const spec = view.subnets.get(name)?.spec;
  return {
    table: 'Logical_Router_Port',
    key: port,
    columns: {
      networks: networksOf(view, name, parts),
      ipv6_ra_configs: spec === undefined ? {} : readRouterAdvert(spec, net.v6 !== undefined).configs,
      external_ids: vendorIds,
    },
    // Pods have it in their neighbour tables: one that another product chose stays.
    initial: { mac: deriveMac(routerMacSpace, port) },
    parent: { table: 'Logical_Router', key: vpc, column: 'ports' },
  };
}

/** The router's port answers for addresses of load balancers, which nobody in the switch has. */
function arpProxy(view: View, name: string): Readonly<Record<string, string>> {
  const addresses = proxiedAddresses(view, name);
  return addresses.length === 0 ? {} : { arp_proxy: addresses.join(' ') };
}

/** A switch with what closes it, its patch to the router of its VPC, and the policy that keeps traffic to it off the nodes. */
function planSubnet(view: View, name: string): Desired {
  const net = servedNet(view, name);
  const vpc = view.verdicts.get(name)?.vpc;
  if (net === undefined || vpc === undefined) return { rows: [] };
  const parts = [net.v4, net.v6].filter((part) => part !== undefined);
  const closing = privateRows(view, name, net);
  const patch = switchRouterPort(name, vpc);
  const contributions = closing.length === 0 ? [] : throughEmptyTiers(view, patch);
  return {
    rows: [
      { table: 'Logical_Switch', key: name, columns: { external_ids: vendorIds } },
      ...closing,
      {
        table: 'Logical_Switch_Port',
        key: patch,
        columns: {
          type: 'router',
          addresses: ['router'],
          options: { 'router-port': routerSwitchPort(vpc, name), ...arpProxy(view, name) },
          external_ids: { ...vendorIds, ls: name },
        },
        parent: { table: 'Logical_Switch', key: name, column: 'ports' },
      },
      routerPort(view, name, vpc, net),
      // In other VPCs nothing sends packets to nodes, and the user's policies are to have the first say.
      ...(vpc === defaultVpc ? parts.map((part) => localPolicy(name, part)) : []),
    ],
    ...(contributions.length === 0 ? {} : { contributions }),
  };
}

function localPolicy(name: string, { cidr }: FamilyNet): DesiredRow {
  return {
    table: 'Logical_Router_Policy',
    key: `subnet/${name}/ipv${cidr.family}`,
    columns: {
      priority: policyPriority.subnetLocal,
      match: `${matchFamily(cidr.family)}.dst == ${formatCidr(cidr)}`,
      action: 'allow',
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
  };
}

export const subnetFeature: Feature = {
  name: 'subnet',
  all: (view) => view.subnets.keys(),
  *reads(change, view) {
    if (['subnets', 'verdicts', 'usage'].includes(change.kind)) yield change.name;
    else if (change.kind === 'vips') yield* [change.before, change.after].flatMap((vip) => vip?.spec.subnet ?? []);
    else if (change.kind === 'ports' && change.name.startsWith('mcast/')) yield change.name.slice('mcast/'.length);
    yield* gatewayStatusReads(change, view);
    if (change.kind === 'verdicts' && change.name === joinSubnet) yield* privateSubnets(view);
  },
  plan: planSubnet,
};

function* privateSubnets(view: View): Generator<string> {
  for (const { name, spec } of view.subnets.values()) if (spec.isPrivate) yield name;
}
