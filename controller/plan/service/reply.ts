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
import { backendsOf } from '../../../lib/services/backends.ts';
import { isExternalLocal, serviceKey, type Service } from '../../../lib/services/service.ts';
import { replyPorts } from '../../../lib/services/reply-ports.ts';
import { ovnProtocols } from '../../../lib/services/vips.ts';
import type { Subnet } from '../../model/objects.ts';
import { nodeAddressSet } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { hasSameGateways, isCentralized, isThroughNodes } from '../../settle/gateway/scope.ts';
import { joinAllocation } from '../../settle/node/join.ts';
import { endpointSubnet } from '../../settle/service/endpoint-vpcs.ts';
import { slicesOf } from '../../settle/service/frontends.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';

/** Endpoints whose replies have the same way. */
interface Group {
  readonly node: string;
  readonly subnet: Subnet;
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
        const subnet = view.subnets.get(endpointSubnet(view, backend) ?? '');
        if (node === '' || subnet === undefined || !isThroughNodes(view, subnet)) continue;
        const protocol = ovnProtocols[servicePort.protocol];
        const id = `${node}/${subnet.name}/${protocol}/${port}/ipv${family}`;
        const group = groups.get(id);
        if (group === undefined)
          groups.set(id, { node, subnet, protocol, family, port, addresses: new Set([address]) });
        else group.addresses.add(address);
      }
  return [...groups.values()];
}

function policiesOf(view: View, service: string, group: Group): readonly DesiredRow[] {
  const {
    node,
    subnet: { name: subnet, spec },
    protocol,
    family,
    port,
    addresses,
  } = group;
  const join = joinAllocation(view, node);
  const hop = family === 4 ? join?.v4 : join?.v6;
  if (hop === undefined) return [];
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
  if (service?.isServed !== true || !isExternalLocal(service)) return nothing;
  if (verdict?.hasVpc !== true || verdict.vpc !== defaultVpc || !view.capabilities.loadBalancers) return nothing;
  return { rows: groupsOf(view, service).flatMap((group) => policiesOf(view, key, group)) };
}

function isLocal({ services }: View, key: string): boolean {
  const service = services.get(key);
  return service !== undefined && isExternalLocal(service);
}

/** Keys: `namespace/name` of the Service. */
export const serviceReplyFeature: Feature = {
  name: 'service-reply',
  all: (view) => view.indexes.externalLocalServices.of(''),
  *reads(change, view) {
    if (change.kind === 'services') {
      if ([change.before, change.after].some((service) => service !== undefined && isExternalLocal(service)))
        yield change.name;
    } else if (change.kind === 'serviceVerdicts') {
      if (isLocal(view, change.name)) yield change.name;
    } else if (change.kind === 'endpointSlices') {
      for (const name of [change.before?.service, change.after?.service])
        if (name !== undefined && isLocal(view, name)) yield name;
    } else if (change.kind === 'ports') {
      if (change.name.startsWith('node/')) yield* view.indexes.externalLocalServices.of('');
      else yield* servicesOf(view, change.name);
    } else if (
      change.kind === 'verdicts' ||
      (change.kind === 'subnets' && !hasSameGateways(change.before, change.after))
    )
      for (const port of view.keysIn(change.name)) yield* servicesOf(view, port);
  },
  plan: planReplies,
  statusOf: (service) => `service/${service}`,
};

/** Services with an endpoint in the pod of these ports. */
function* servicesOf(view: View, ports: string): Generator<string> {
  if (!ports.startsWith('pod/')) return;
  for (const slice of view.indexes.slicesByPod.of(ports.slice('pod/'.length))) {
    const { service = '' } = view.endpointSlices.get(slice) ?? {};
    if (isLocal(view, service)) yield service;
  }
}
