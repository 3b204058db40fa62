/**
 * Underlay subnets that are joined with the overlay: the router of the VPC has an address in the VLAN, and pods there have it
 * as their gateway. In: the networks in force of Subnets, and Nodes. Out: policies of the router, which forward packets to
 * networks outside the VPC to the physical gateway. Rules: nodes are reached over the physical network, from which they see
 * the pods; an overlay pod reaches a node by the node's port as before, whatever LAN the node is in.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { type Family, familyOf } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import { u2oAllocation } from '../../settle/underlay/u2o-allocation.ts';
import { planIps } from '../address/ip-object.ts';
import { addressText } from '../address/texts.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { portGroupPart } from '../../model/ovn-names.ts';
import { nodeAddresses } from '../../model/node-traits.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import type { View } from '../../model/view.ts';
import { overlaySet } from './overlay-cidrs.ts';
import { isOfNetworks, isPhysical, isRewritten, ownCidrs, physicalSubnets } from './own-cidrs.ts';
import { isJoined, routerAddresses } from './router-addresses.ts';

interface Place {
  readonly subnet: string;
  readonly vpc: string;
  readonly part: FamilyNet;
  readonly isOverlayOnly: boolean;
}

interface Rule {
  readonly name: string;
  readonly priority: number;
  readonly match: string;
  readonly action: 'allow' | 'reroute';
}

/** Addresses of nodes, of one family. */
function nodeSet(subnet: string, family: Family): string {
  return `${portGroupPart(subnet)}.u2o_exclude_ip.${matchFamily(family)}`;
}

/** What leads into the subnet, and what of its packets stays in the cluster. */
function innerRules(view: View, { subnet, vpc, part, isOverlayOnly }: Place): readonly Rule[] {
  const { family } = part.cidr;
  const [ip, cidr] = [matchFamily(family), formatCidr(part.cidr)];
  const allow = (name: string, priority: number, match: string): Rule => ({ name, priority, match, action: 'allow' });
  if (vpc !== defaultVpc) {
    const own = ownCidrs(view, vpc, family);
    return [allow('own', policyPriority.underlay, `${ip}.src == ${cidr} && ${ip}.dst == {${own.join(', ')}}`)];
  }
  const toNodes: Rule = {
    name: 'nodes',
    priority: policyPriority.subnetLocal,
    match: `${ip}.dst == $${nodeSet(subnet, family)} && ${ip}.src == ${cidr}`,
    action: 'reroute',
  };
  if (!isOverlayOnly) return [toNodes, allow('in', policyPriority.underlay, `${ip}.dst == ${cidr}`)];
  const fromOverlay = `${ip}.src == $${overlaySet(vpc, family)} && ${ip}.dst == ${cidr}`;
  return [
    toNodes,
    allow('in', policyPriority.underlay, fromOverlay),
    allow('within', policyPriority.underlayLocal, `${ip}.src == ${cidr} && ${ip}.dst == ${cidr}`),
  ];
}

function policies(view: View, place: Place): readonly DesiredRow[] {
  const { subnet, vpc, part, isOverlayOnly } = place;
  const { family } = part.cidr;
  const isEarly = isOverlayOnly && vpc === defaultVpc;
  const out: Rule = {
    name: 'out',
    priority: isEarly ? policyPriority.underlayGateway : policyPriority.gateway,
    match: `${matchFamily(family)}.src == ${formatCidr(part.cidr)}`,
    action: 'reroute',
  };
  return [...innerRules(view, place), out].map(({ name, priority, match, action }) => ({
    table: 'Logical_Router_Policy',
    key: `u2o/${subnet}/${name}/ipv${family}`,
    columns: {
      priority,
      match,
      action,
      ...(action === 'reroute' ? { nexthops: [gatewayIp(part)] } : {}),
      external_ids: { ...vendorIds, subnet, isU2ORoutePolicy: 'true' },
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'policies' },
  }));
}

function nodeSetRow(subnet: string, family: Family): DesiredRow {
  return {
    table: 'Address_Set',
    key: nodeSet(subnet, family),
    columns: { external_ids: { ...vendorIds, subnet } },
    collects: ['addresses'],
  };
}

function nodeMembers(view: View, subnet: string, family: Family): Contribution {
  const all = [...view.nodes.values()].flatMap(nodeAddresses);
  const values = [...new Set(all.filter((address) => familyOf(address) === family))].sort();
  return { table: 'Address_Set', key: nodeSet(subnet, family), column: 'addresses', values };
}

function planU2o(view: View, subnet: string): Desired {
  const vpc = view.verdicts.get(subnet)?.vpc;
  const addresses = routerAddresses(view, subnet);
  if (vpc === undefined || addresses === undefined || !isJoined(view, subnet)) return nothing;
  const isOverlayOnly = view.subnets.get(subnet)?.spec.overlayOnlyRouting === true;
  const parts = [addresses.net.v4, addresses.net.v6].filter((part) => part !== undefined);
  const families = vpc === defaultVpc ? parts.map(({ cidr }) => cidr.family) : [];
  return {
    rows: [
      ...families.map((family) => nodeSetRow(subnet, family)),
      ...parts.flatMap((part) => policies(view, { subnet, vpc, part, isOverlayOnly })),
    ],
    contributions: families.map((family) => nodeMembers(view, subnet, family)),
  };
}

/** Fields of a Subnet's status about its router; null if it has none beside the physical gateway. */
export function planU2oStatus(view: View, subnet: string): Readonly<Record<string, string | null>> {
  const allocation = u2oAllocation(view, subnet);
  return {
    u2oInterconnectionIP: allocation === undefined ? null : addressText(allocation),
    u2oInterconnectionMAC: allocation?.mac ?? null,
    u2oInterconnectionVPC: allocation === undefined ? null : (view.verdicts.get(subnet)?.vpc ?? null),
  };
}

/** The IP object of the router's address beside the physical gateway. Once released, it is reported by its own key. */
function reportRouterAddress(view: View, subnet: string, { rows }: Outcome): readonly ObjectReport[] {
  return rows.hasSwitch(subnet) ? planIps(view, `u2o/${subnet}`) : [];
}

/** Keys: `<subnet>`. */
export const u2oFeature: Feature = {
  name: 'u2o',
  all: (view) => view.subnets.keys(),
  *reads(change, view) {
    if (change.kind === 'ports' && change.name.startsWith('u2o/')) yield change.name.slice('u2o/'.length);
    if (change.kind === 'verdicts' || isRewritten(change)) yield change.name;
    // A former address of the router is removed with the last pod that uses it.
    if (change.kind === 'usage' && isPhysical(view.verdicts.get(change.name))) yield change.name;
    const isNode = change.kind === 'nodes' && change.before?.addresses.join() !== change.after?.addresses.join();
    if (isNode || isOfNetworks(change)) yield* physicalSubnets(view);
  },
  plan: planU2o,
  report: reportRouterAddress,
  statusOf: (subnet) => `subnet/${subnet}`,
};
