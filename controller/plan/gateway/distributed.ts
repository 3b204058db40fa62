import { defaultVpc } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { gatewayPortGroup, nodePortGroup } from '../../model/ovn-names.ts';
import { failure } from '../events.ts';
import { joinAllocation } from '../../settle/node/join.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import type { View } from '../../model/view.ts';
import { hasSameGateways, isCentralized, isThroughNodes } from '../../settle/gateway/scope.ts';

interface Place {
  readonly subnet: string;
  readonly node: string;
}

/**
 * Distributed gateway: traffic that pods of a subnet send out of the cluster leaves through the pod's node. The group of
 * these pods also exists for a centralized gateway, so that its members are complete when the gateway becomes distributed.
 */
function planGateway(view: View, id: string): Desired {
  const [name = '', node = ''] = id.split('/', 2);
  const net = servedNet(view, name);
  const subnet = view.subnets.get(name);
  // Of several nodes whose groups would have the same name, only the holder has them.
  const holder = view.holderOf(nodePortGroup(node));
  if (net === undefined || subnet === undefined || !isThroughNodes(view, subnet) || holder !== node) return nothing;
  const place = { subnet: name, node };
  const portGroup: DesiredRow = {
    table: 'Port_Group',
    key: gatewayPortGroup(name, node),
    columns: { external_ids: { ...vendorIds, ...place, np: id } },
    collects: ['ports'],
  };
  return { rows: [portGroup, ...(isCentralized(subnet.spec) ? [] : policies(view, net, place))] };
}

function policies(view: View, net: SubnetNet, place: Place): readonly DesiredRow[] {
  const group = gatewayPortGroup(place.subnet, place.node);
  const join = joinAllocation(view, place.node);
  const hops = [
    { family: 4, address: join?.v4, isServed: net.v4 !== undefined },
    { family: 6, address: join?.v6, isServed: net.v6 !== undefined },
  ] as const;
  return hops.flatMap(({ family, address, isServed }): DesiredRow[] => {
    if (address === undefined || !isServed) return [];
    const ip = matchFamily(family);
    return [
      {
        table: 'Logical_Router_Policy',
        key: `gateway/${place.subnet}/${place.node}/ipv${family}`,
        columns: {
          priority: policyPriority.gateway,
          match: `${ip}.src == $${group}_${ip}`,
          action: 'reroute',
          nexthops: [address],
          external_ids: { ...vendorIds, ...place },
        },
        parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
      },
    ];
  });
}

/** The Subnet has an event for each node whose gateway the database refused. */
function reportGateway(view: View, id: string, outcome: Outcome): readonly ObjectReport[] {
  const refusal = refusalOf(outcome);
  const [name = '', node = ''] = id.split('/', 2);
  if (refusal === undefined || !view.subnets.has(name)) return [];
  const { code, message } = refusal;
  const event = failure('GatewayRefused', { code, message: `the gateway of node ${node}: ${message}` });
  return [{ object: { kind: 'subnets', name }, events: [event] }];
}

/** Keys: `<subnet>/<node>`. */
export const distributedGatewayFeature: Feature = {
  name: 'gateway',
  *all(view) {
    for (const subnet of view.subnets.keys()) for (const node of view.nodes.keys()) yield `${subnet}/${node}`;
  },
  *reads(change, view) {
    const isScope = change.kind === 'subnets' && !hasSameGateways(change.before, change.after);
    if (isScope || change.kind === 'verdicts') for (const node of view.nodes.keys()) yield `${change.name}/${node}`;
    const isNode = change.kind === 'nodes' && change.before?.createdMs !== change.after?.createdMs;
    const nodes = isNode ? [change.name, ...view.indexes.nodesByTrait.of(nodePortGroup(change.name))] : [];
    if (change.kind === 'ports' && change.name.startsWith('node/')) nodes.push(change.name.slice('node/'.length));
    for (const node of nodes) for (const subnet of view.verdicts.keys()) yield `${subnet}/${node}`;
  },
  plan: planGateway,
  report: reportGateway,
};
