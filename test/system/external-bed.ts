/**
 * A network outside for a bed of services: a switch to which both nodes have a bridge, with a router and a server behind it in a namespace of
 * their own. The test writes the labels of Nodes that daemons write.
 */
import assert from 'node:assert/strict';
import { nodes, providerNetworks, subnets, vlans } from '../../lib/kube/resources.ts';
import { words } from './ovn-bed.ts';
import { nodeNames, type NodeName, type ServiceBed } from './service-bed.ts';

export const outside = {
  /** The namespace of the router and the server. */
  name: 'lan',
  cidrs: '203.0.113.0/24,2001:db8:113::/64',
  router: ['203.0.113.1', '2001:db8:113::1'],
  routerMac: '02:00:00:00:71:01',
  /** Not in the network itself. */
  server: ['192.0.2.10', '2001:db8:2::10'],
} as const;

/** Labels of a node with the bridge, and of one that may be a gateway. */
export const bridgeLabel = { 'net1.provider-network.kubernetes.io/ready': 'true' };
export const gatewayLabel = { 'ovn.kubernetes.io/external-gw': 'true' };

export async function label(
  bed: ServiceBed,
  node: string,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  await bed.controller.kube.patch(nodes, { name: node }, 'merge', { metadata: { labels } });
}

/** With which routers of OVN send from a node. */
function macOf(node: string): string {
  return `"net1:0a:0e:00:00:00:0${node.slice(1)}"`;
}

/** Builds the network, and the Subnet `external` in it. */
export async function addOutside(bed: ServiceBed): Promise<void> {
  const space = bed.space(outside.name);
  words(`ip netns add ${space}`);
  bed.batch(outside.name, [
    'link set lo up',
    // Without an address of its own, the bridge takes another one as devices join, which OVN does not learn.
    `link add br0 address ${outside.routerMac} type bridge`,
    'link set br0 up',
    `addr add ${outside.router[0]}/24 dev br0`,
    `addr add ${outside.router[1]}/64 dev br0 nodad`,
    `addr add ${outside.server[0]}/32 dev lo`,
    `addr add ${outside.server[1]}/128 dev lo nodad`,
  ]);
  for (const node of nodeNames) await joinOutside(bed, node);
  bed.serve(outside.name, 80);
  const { controller } = bed;
  await controller.create(providerNetworks, 'net1', { defaultInterface: 'ext0' });
  await controller.create(vlans, 'lan', { id: 0, provider: 'net1' });
  await controller.create(subnets, 'external', {
    vlan: 'lan',
    cidrBlock: outside.cidrs,
    gateway: outside.router.join(),
    excludeIps: ['203.0.113.1..203.0.113.9', '2001:db8:113::1..2001:db8:113::f'],
  });
}

/** Gives a node a bridge to the network, and the settings and the label that its daemon would give it. */
export async function joinOutside(bed: ServiceBed, node: NodeName): Promise<void> {
  words(`ip link add ext0 netns ${bed.space(node)} type veth peer name ${node} netns ${bed.space(outside.name)}`);
  bed.in(outside.name, `ip link set ${node} master br0 up`);
  for (const [place, device] of [
    [node, 'ext0'],
    [outside.name, node],
    [outside.name, 'br0'],
  ] as const)
    bed.in(place, `ethtool -K ${device} tx off`);
  bed.in(node, 'ip link set ext0 up');
  const vsctl = `ovs-vsctl --no-wait --timeout=60 --db=unix:${bed.dir}/${node}/db.sock`;
  words(`${vsctl} add-br br-ext -- set bridge br-ext datapath_type=netdev -- add-port br-ext ext0`);
  const mappings = [
    'external_ids:ovn-bridge-mappings=net1:br-ext',
    `external_ids:ovn-chassis-mac-mappings=${macOf(node)}`,
  ];
  words(`${vsctl} set open .`, ...mappings);
  await label(bed, node, bridgeLabel);
  // A port moves to a node only if the node is Ready.
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  await bed.controller.kube.patch(nodes, { name: node }, 'merge', { status }, { subresource: 'status' });
}

/** A controller that is killed and started again changes no row and no object. */
export async function restartWritesNothing(bed: ServiceBed): Promise<void> {
  const { controller } = bed;
  await controller.quiet();
  const versions = await controller.versions();
  await controller.kill();
  const { changes } = controller;
  await bed.startController();
  assert.equal(controller.changes, changes);
  assert.deepEqual(await controller.versions(), versions);
}

/** To be called before the bed is closed. */
export function removeOutside(bed: ServiceBed): void {
  words(`ip netns del ${bed.space(outside.name)}`);
}
