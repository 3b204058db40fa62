/**
 * The replies of endpoints under externalTrafficPolicy Local. In: Services, EndpointSlices, the ports of pods and nodes. Out: router policies that
 * send these replies to the node of the endpoint, because that node translated the connection and the client kept its address. Without them,
 * OVN would send the replies to another node, whose address the client has or which is the gateway of the endpoint's Subnet, and nothing there
 * would translate them back. Rule: a packet is a reply if its source port is the target port of the Service and, where it goes to a node, its destination
 * port is one of `replyPorts`.
 */
import { defaultVpc, routerSwitchPort } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { backendsOf, type Backend } from '../../../lib/services/backends.ts';
import { isExternal, serviceKey, type Service } from '../../../lib/services/service.ts';
import { replyPorts } from '../../../lib/services/reply-ports.ts';
import { nodeAddressSet } from '../../model/ovn-names.ts';
import { ovnProtocols } from '../../model/service-vips.ts';
import type { Change } from '../../model/change.ts';
import type { View } from '../../model/view.ts';
import { isCentralized, isThroughNodes } from '../../settle/gateway/scope.ts';
import { joinAllocation } from '../../settle/node/join.ts';
import { slicesOf } from '../../settle/service/frontends.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';

/** Endpoints whose replies have the same way. */
interface Group {
  readonly node: string;
  readonly subnet: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly family: Family;
  readonly port: number;
  readonly addresses: Set<string>;
}

function groupsOf(view: View, service: Service): readonly Group[] {
  const slices = slicesOf(view, serviceKey(service));
  const groups = new Map<string, Group>();
  for (const servicePort of service.ports)
    for (const family of service.ipFamilies)
      // Connections to an endpoint that is no longer ready continue, too.
      for (const backend of backendsOf(slices, servicePort, family)) {
        const { node, port, address } = backend;
        const subnet = subnetOf(view, backend);
        if (node === '' || subnet === undefined) continue;
        const protocol = ovnProtocols[servicePort.protocol];
        const id = `${node}/${subnet}/${protocol}/${port}/ipv${family}`;
        const group = groups.get(id);
        if (group === undefined)
          groups.set(id, { node, subnet, protocol, family, port, addresses: new Set([address]) });
        else group.addresses.add(address);
      }
  return [...groups.values()];
}

/** The Subnet of an endpoint that is a pod behind the default router; undefined for any other. */
function subnetOf(view: View, { pod, address }: Backend): string | undefined {
  if (pod === undefined) return undefined;
  const held = view.ports(`pod/${pod}`).find(({ allocation: { v4, v6 } }) => v4 === address || v6 === address);
  const subnet = view.subnets.get(held?.allocation.subnet ?? '');
  return subnet !== undefined && isThroughNodes(view, subnet) ? subnet.name : undefined;
}

function policiesOf(view: View, service: string, group: Group): readonly DesiredRow[] {
  const { node, subnet, protocol, family, port, addresses } = group;
  const join = joinAllocation(view, node);
  const hop = family === 4 ? join?.v4 : join?.v6;
  const spec = view.subnets.get(subnet)?.spec;
  if (hop === undefined || spec === undefined) return [];
  const ip = matchFamily(family);
  const inport = `inport == "${routerSwitchPort(defaultVpc, subnet)}"`;
  const replies = `${inport} && ${ip}.src == {${[...addresses].sort().join(', ')}} && ${protocol}.src == ${port}`;
  const policy = (name: string, priority: number, match: string): DesiredRow => ({
    table: 'Logical_Router_Policy',
    key: `service-reply/${service}/${node}/${subnet}/${protocol}/${port}/ipv${family}/${name}`,
    columns: { priority, match, action: 'reroute', nexthops: [hop], external_ids: { ...vendorIds, node } },
    parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
  });
  const toNodes = policy(
    'nodes',
    policyPriority.serviceReply,
    `${replies} && ${protocol}.dst >= ${replyPorts.first} && ${ip}.dst == $${nodeAddressSet(family)}`,
  );
  if (!isCentralized(spec)) return [toNodes];
  return [toNodes, policy('outside', policyPriority.serviceReplyOutside, replies)];
}

function planReplies(view: View, key: string): Desired {
  const service = view.services.get(key);
  const verdict = view.serviceVerdicts.get(key);
  if (service?.isServed !== true || !isLocal(view, key)) return nothing;
  if (verdict?.hasVpc !== true || verdict.vpc !== defaultVpc || !view.capabilities.loadBalancers) return nothing;
  return { rows: groupsOf(view, service).flatMap((group) => policiesOf(view, key, group)) };
}

function isLocal({ services }: View, key: string): boolean {
  const service = services.get(key);
  return service?.isExternalPolicyLocal === true && isExternal(service);
}

/** Keys: `namespace/name` of the Service. */
export const serviceReplyFeature: Feature = {
  name: 'service-reply',
  all: (view) => view.indexes.externalLocalServices.of(''),
  *reads(change, view) {
    if (change.kind === 'services' || change.kind === 'serviceVerdicts') yield change.name;
    else if (change.kind === 'endpointSlices') {
      for (const name of [change.before?.service, change.after?.service])
        if (name !== undefined && isLocal(view, name)) yield name;
    } else if (change.kind === 'ports' && change.name.startsWith('pod/')) {
      for (const slice of view.indexes.slicesByPod.of(change.name.slice('pod/'.length))) {
        const { service = '' } = view.endpointSlices.get(slice) ?? {};
        if (isLocal(view, service)) yield service;
      }
    } else if (isWayChange(change)) yield* view.indexes.externalLocalServices.of('');
  },
  plan: planReplies,
  statusOf: (service) => `service/${service}`,
};

function isWayChange(change: Change): boolean {
  if (change.kind === 'verdicts') return true;
  if (change.kind === 'subnets')
    return (
      change.before === undefined ||
      change.after === undefined ||
      isCentralized(change.before.spec) !== isCentralized(change.after.spec)
    );
  return change.kind === 'ports' && change.name.startsWith('node/');
}
