import { defaultVpc, joinSubnet, routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import { hasLogicalGateway } from '../../model/net-in-force.ts';
import { routerMacSpace } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { formerGateways } from '../../settle/subnet/former-gateways.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import { throughEmptyTiers } from '../acl-tier/empty-tiers.ts';
import type { Feature } from '../feature.ts';
import { gatewayStatusReads } from '../gateway/status.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { localnetRow } from '../underlay/localnet.ts';
import { routerAddresses } from '../underlay/router-addresses.ts';
import type { RouterAddresses } from '../underlay/router-addresses.ts';
import { proxiedAddresses } from '../vip/virtual-port.ts';
import { privateRows } from './private.ts';
import { reportSubnet } from './report.ts';
import { readRouterAdvert } from './router-advert.ts';

/** Addresses of the router's port: its own, and those that pods were set up with before. */
function networksOf(view: View, name: string, { ips, net }: RouterAddresses): readonly string[] {
  const former = formerGateways(view, name).map(({ ip }) => ip);
  return [net.v4, net.v6].flatMap((part) => {
    if (part === undefined) return [];
    const { family, prefix } = part.cidr;
    const own = [...ips, ...former].filter((ip) => ip.family === family);
    return own.map((ip) => `${formatIp(ip)}/${prefix}`);
  });
}

function routerPort(view: View, name: string, vpc: string, addresses: RouterAddresses): DesiredRow {
  const port = routerSwitchPort(vpc, name);
  const spec = view.subnets.get(name)?.spec;
  const { mac, net } = addresses;
  return {
    table: 'Logical_Router_Port',
    key: port,
    columns: {
      networks: networksOf(view, name, addresses),
      ipv6_ra_configs: spec === undefined ? {} : readRouterAdvert(spec, net.v6 !== undefined).configs,
      external_ids: vendorIds,
      ...(mac === undefined ? {} : { mac }),
    },
    // Pods have it in their neighbour tables: one that another product chose stays.
    ...(mac === undefined ? { initial: { mac: deriveMac(routerMacSpace, port) } } : {}),
    parent: { table: 'Logical_Router', key: vpc, column: 'ports' },
  };
}

/** The router's port answers for addresses of load balancers, which no port of the switch has. */
function arpProxy(view: View, name: string): Readonly<Record<string, string>> {
  const addresses = proxiedAddresses(view, name);
  return addresses.length === 0 ? {} : { arp_proxy: addresses.join(' ') };
}

/** Both ends of the patch between a switch and the router of its VPC. */
function patchRows(view: View, name: string, vpc: string, addresses: RouterAddresses): readonly DesiredRow[] {
  return [
    {
      table: 'Logical_Switch_Port',
      key: switchRouterPort(name, vpc),
      columns: {
        type: 'router',
        addresses: ['router'],
        options: { 'router-port': routerSwitchPort(vpc, name), ...arpProxy(view, name) },
        external_ids: { ...vendorIds, ls: name },
      },
      parent: { table: 'Logical_Switch', key: name, column: 'ports' },
    },
    routerPort(view, name, vpc, addresses),
  ];
}

/** A switch with the ACLs that close it, its patch to the VPC's router, and the policy that keeps traffic to it off the nodes. */
function planSubnet(view: View, name: string): Desired {
  const net = servedNet(view, name);
  const vpc = view.verdicts.get(name)?.vpc;
  if (net === undefined || vpc === undefined) return { rows: [] };
  const parts = [net.v4, net.v6].filter((part) => part !== undefined);
  const closing = privateRows(view, name, net);
  const localnet = localnetRow(name, net);
  const addresses = routerAddresses(view, name);
  const patch = addresses === undefined ? [] : patchRows(view, name, vpc, addresses);
  const [anyPort] = [...patch, ...(localnet === undefined ? [] : [localnet])];
  const contributions = closing.length === 0 || anyPort === undefined ? [] : throughEmptyTiers(view, anyPort.key);
  // In other VPCs nothing sends packets to nodes, and the user's policies must take precedence.
  const isLocal = vpc === defaultVpc && hasLogicalGateway(net);
  return {
    rows: [
      { table: 'Logical_Switch', key: name, columns: { external_ids: vendorIds } },
      ...closing,
      ...(localnet === undefined ? [] : [localnet]),
      ...patch,
      ...(isLocal ? parts.map((part) => localPolicy(name, part)) : []),
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
    else if (change.kind === 'ports' && /^(?:mcast|u2o)\//.test(change.name))
      yield change.name.slice(change.name.indexOf('/') + 1);
    yield* gatewayStatusReads(change, view);
    if (change.kind === 'verdicts' && change.name === joinSubnet) yield* privateSubnets(view);
    // They request a namespace of another VPC.
    if (change.kind === 'bindings') yield* [change.before, change.after].flatMap((binding) => binding?.others ?? []);
  },
  plan: planSubnet,
  report: reportSubnet,
};

function* privateSubnets(view: View): Generator<string> {
  for (const { name, spec } of view.subnets.values()) if (spec.isPrivate) yield name;
}
