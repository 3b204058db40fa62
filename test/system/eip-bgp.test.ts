/**
 * Addresses outside that routers know by BGP alone, with packets: two nodes that are gateways, a third one, and a router that shares one half of the
 * network outside with them and the addresses of the other half with nobody. The VPC `green` has its addresses in a network without a wire.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpPeers,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  providerNetworks,
  services,
  subnets,
  vlans,
  vpcs,
} from '../../lib/kube/resources.ts';
import { nodeGobgpd, startGobgpd, type TestGobgpd } from '../../lib/gobgp/src/testing.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import { FrrPeer } from './bgp/frr.ts';
import { end, Namespace } from './bgp/namespace.ts';
import { startSpeaker } from './bgp/speaker-process.ts';
import { addOutside, gatewayLabel, label, outside, removeOutside } from './external-bed.ts';
import { words } from './ovn-bed.ts';
import { type NodeName, nodeNames, ServiceBed } from './service-bed.ts';

/** In the half of the network outside that the router has no address in. */
const address = '203.0.113.200';
const host = `${address}/32`;
/** In a network that nodes route to. */
const routed = '192.0.2.200';
/** The router's own address in the other half. */
const routerAddress = '203.0.113.2';
const sides = { n1: ['172.31.21.1', '172.31.21.254'], n2: ['172.31.22.1', '172.31.22.254'] } as const;

let bed: ServiceBed;
let tor: FrrPeer;
const gobgpds: TestGobgpd[] = [];
const speakers: ChildProcess[] = [];

/** The router: beside the nodes on the switch outside, and with a link to each of them for its sessions. */
async function addRouter(): Promise<void> {
  const namespace = await Namespace.open('tor');
  const { pid } = namespace;
  words(`ip link add out netns ${pid} type veth peer name tor netns ${bed.space(outside.name)}`);
  bed.in(outside.name, 'ip link set tor master br0 up');
  bed.in(outside.name, 'ethtool -K tor tx off');
  namespace.run('ethtool', '-K', 'out', 'tx', 'off');
  namespace.ip(`addr add ${routerAddress}/25 dev out`, 'link set out up');
  for (const node of nodeNames) {
    const [nodeSide, torSide] = sides[node];
    words(`ip link add tor0 netns ${bed.space(node)} type veth peer name ${node} netns ${pid}`);
    namespace.ip(`addr add ${torSide}/24 dev ${node}`, `link set ${node} up`);
    bed.in(node, `ip addr add ${nodeSide}/24 dev tor0`);
    bed.in(node, 'ip link set tor0 up');
  }
  const [nodeV4, v4] = sides.n1;
  const link = { nodeV4, v4, nodeV6: 'fd00:31:21::1', v6: 'fd00:31:21::254' };
  const dir = join(bed.dir, 'tor');
  mkdirSync(dir);
  words(`chmod 755 ${bed.dir}`);
  tor = new FrrPeer({ setup: { kind: 'frr', name: 'tor', asn: 65000 }, namespace, link, dir });
  await tor.start();
  const [other] = sides.n2;
  const lines = ['remote-as external', 'timers 3 9', 'timers connect 1', 'advertisement-interval 0'];
  await tor.configure('router bgp 65000', ...lines.map((line) => `neighbor ${other} ${line}`));
}

/** A network without a wire: bridges as daemons make them, of which each is the gateway. */
async function addRouted(): Promise<void> {
  const { controller } = bed;
  for (const node of nodeNames) {
    const vsctl = `ovs-vsctl --no-wait --timeout=60 --db=unix:${bed.dir}/${node}/db.sock`;
    const bridge = ['datapath_type=netdev', 'other_config:hwaddr=02:00:00:00:00:92'];
    words(`${vsctl} add-br br-edge -- set bridge br-edge`, ...bridge);
    words(`${vsctl} set open .`, 'external_ids:ovn-bridge-mappings=net1:br-ext,edge:br-edge');
    await eventually('the bridge', () => bed.in(node, 'ip link set br-edge up') === '');
    bed.in(node, 'ethtool -K br-edge tx off');
    bed.in(node, 'ethtool -K tor0 tx off');
    bed.in(node, 'ip addr add 192.0.2.1/24 dev br-edge');
    bed.in(node, 'sysctl -qw net.ipv4.ip_forward=1');
    tor.namespace.run('ethtool', '-K', node, 'tx', 'off');
    await label(bed, node, { 'edge.provider-network.kubernetes.io/ready': 'true' });
  }
  await controller.create(providerNetworks, 'edge', { routedByNodes: true });
  await controller.create(vlans, 'edge', { id: 0, provider: 'edge' });
  await controller.create(subnets, 'edge', { vlan: 'edge', cidrBlock: '192.0.2.0/24', gateway: '192.0.2.1' });
  await controller.create(vpcs, 'green', { enableExternal: true, extraExternalSubnets: ['edge'] });
  await controller.createSubnet('green-net', { vpc: 'green', cidrBlock: '10.91.0.0/16' });
  await eventually('its network', () => controller.row('Logical_Switch', 'green-net') !== undefined);
  await bed.addPod('g1', 'n1', { 'ovn.kubernetes.io/logical_switch': 'green-net' });
}

async function addSpeaker(node: NodeName): Promise<void> {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', bed.space(node)];
  const gobgpd = await startGobgpd(nodeGobgpd(), prefix);
  gobgpds.push(gobgpd);
  const namespace = { pid: gobgpd.pid };
  speakers.push(startSpeaker({ name: node, namespace, gobgpd }, bed.controller.api.kubeconfig, []));
}

before(async () => {
  bed = await ServiceBed.open();
  await addOutside(bed);
  await bed.addWitness();
  await addRouter();
  const { controller } = bed;
  for (const node of nodeNames) {
    await label(bed, node, { 'ovn.kubernetes.io/bgp': 'true' });
    await addSpeaker(node);
  }
  // The third node reaches the others through n1.
  await label(bed, 'n2', gatewayLabel);
  await controller.create(vpcs, 'blue', { enableExternal: true });
  await controller.createSubnet('blue-net', { vpc: 'blue', cidrBlock: '10.90.0.0/16,fd00:90::/112' });
  await eventually('the network', () => controller.row('Logical_Switch', 'blue-net') !== undefined);
  const annotations = { 'ovn.kubernetes.io/logical_switch': 'blue-net' };
  await bed.addPod('b1', 'n1', annotations);
  await addRouted();
  // A Service of another VPC would be announced by nobody.
  await bed.plugPod('d1', 'n1');
  await bed.plugPod('b3', 'n3', { annotations });
  await controller.create(bgpInstances, 'rack', { localASN: 65001 });
  for (const node of nodeNames)
    await controller.create(bgpPeers, `tor-${node}`, {
      instance: 'rack',
      address: sides[node][1],
      asn: 65000,
      nodeSelector: { matchLabels: { 'topology.kubernetes.io/zone': `zone-${node}` } },
    });
});

after(async () => {
  for (const each of speakers) await end(each);
  for (const each of gobgpds) await each.stop();
  const [router, opened] = [tor as FrrPeer | undefined, bed as ServiceBed | undefined];
  await router?.namespace.close();
  if (opened !== undefined) removeOutside(opened);
  await opened?.close();
});

interface EipStatus {
  readonly ready?: boolean;
  readonly v4Ip?: string;
  readonly gatewayPort?: string;
  readonly holder?: string;
  readonly nodes?: readonly string[];
}

async function statusOf(name: string): Promise<EipStatus> {
  return fieldsOf((await bed.controller.kube.get(ovnEips, { name }))['status']);
}

/** The MED of the router's path from each node. */
async function meds(prefix = host): Promise<Readonly<Record<string, number | undefined>>> {
  const found: Record<string, number | undefined> = {};
  for (const node of nodeNames) found[node] = (await tor.path(prefix, sides[node][0]))?.med;
  return found;
}

/** Whether the pod answers a client on the router at the address outside. */
function answers(at = `${address}:8000`, pod = 'b1'): boolean {
  const argv = ['curl', '--silent', '--max-time', '2', '--http0.9', `http://${at}/`];
  try {
    return tor.namespace.run(...argv).startsWith(pod);
  } catch {
    return false;
  }
}

describe('an OvnEip with a BgpAdvertisement', () => {
  test('is a route to the router port once a rule uses it, first by the node that has the port', async () => {
    const { controller } = bed;
    await controller.create(bgpAdvertisements, 'eips', { source: 'Eip' });
    await controller.create(ovnEips, 'web', { v4Ip: address });
    await eventually('its address', async () => (await statusOf('web')).ready === true);
    await eventuallyPasses(async () => {
      const { status } = await controller.kube.get(bgpAdvertisements, { name: 'eips' });
      assert.match(JSON.stringify(status), /no rule of OvnEip web is in force/);
    });
    const rule = { ovnEip: 'web', ipName: 'b1.default', externalPort: '8000', internalPort: '8080', protocol: 'tcp' };
    await controller.create(ovnDnatRules, 'web', rule);
    await eventuallyPasses(async () => assert.deepEqual(await meds(), { n1: undefined, n2: 0 }));
    await label(bed, 'n1', gatewayLabel);
    await eventuallyPasses(async () => assert.deepEqual(await meds(), { n1: 100, n2: 0 }));
    const { v4Ip = '' } = await statusOf('blue-external');
    for (const node of nodeNames) assert.equal((await tor.path(host, sides[node][0]))?.nextHop, v4Ip);
    await eventuallyPasses(() => assert.deepEqual(tor.fib()[host], [v4Ip]));
    await eventuallyPasses(() => assert.ok(answers(), 'no answer'));
  });

  test('leads a pod out with its address, to which answers come back', async () => {
    await bed.controller.create(ovnSnatRules, 'web', { ovnEip: 'web', vpcSubnet: 'blue-net' });
    await eventuallyPasses(() => bed.in('b1', `ping -c1 -W1 ${routerAddress}`));
  });

  test('is reached in a network without a wire by the node that has the port', async () => {
    const { controller } = bed;
    await controller.create(ovnEips, 'edge', { externalSubnet: 'edge', v4Ip: routed });
    await controller.create(ovnFips, 'edge', { ovnEip: 'edge', ipName: 'g1.default' });
    await eventuallyPasses(async () => assert.deepEqual(await meds(`${routed}/32`), { n1: 100, n2: 0 }));
    await eventuallyPasses(async () => {
      for (const node of nodeNames)
        assert.equal((await tor.path(`${routed}/32`, sides[node][0]))?.nextHop, sides[node][0]);
    });
    await eventuallyPasses(() => assert.deepEqual(tor.fib()[`${routed}/32`], [sides.n2[0]]));
    await eventuallyPasses(() => assert.ok(answers(`${routed}:8080`, 'g1'), 'no answer'));
    await eventuallyPasses(() => bed.in('g1', `ping -c1 -W1 ${sides.n2[1]}`));
    // The address of the router, from which its ICMP errors come.
    const { v4Ip = '' } = await statusOf('green-edge');
    await eventuallyPasses(async () => assert.deepEqual(await meds(`${v4Ip}/32`), { n1: 100, n2: 0 }));
  });

  test('stays reachable while the port moves, and the router then prefers the other node', async () => {
    const before = await statusOf('blue-external');
    assert.equal(before.holder, 'n2');
    bed.killSwitch('n2');
    // The speaker of n2 sees by itself that its switch is gone.
    await eventuallyPasses(async () => assert.deepEqual(await meds(), { n1: 0, n2: 200 }));
    const { v4Ip = '' } = before;
    await eventuallyPasses(async () => assert.equal((await tor.routes())[host]?.[0], v4Ip));
    await eventuallyPasses(() => assert.ok(answers(), 'no answer'));
  });

  test('is reached in a network without a wire by the other node then', async () => {
    await eventuallyPasses(async () => assert.deepEqual(await meds(`${routed}/32`), { n1: 0, n2: 200 }));
    await eventuallyPasses(() => assert.deepEqual(tor.fib()[`${routed}/32`], [sides.n1[0]]));
    await eventuallyPasses(() => assert.ok(answers(`${routed}:8080`, 'g1'), 'no answer'));
    await eventuallyPasses(() => bed.in('g1', `ping -c1 -W1 ${sides.n1[1]}`));
  });

  test('is no more than its own address, and an external IP does not take it', async () => {
    const { controller } = bed;
    const ports = [{ name: 'tcp', port: 80, targetPort: 8080 }];
    await controller.create(bgpAdvertisements, 'thieves', { source: 'Service', serviceAddresses: ['ExternalIP'] });
    await controller.create(services, 'thief', { ports, externalIPs: [address, '198.51.100.9'] }, 'default');
    await bed.endpoints('thief', { d1: { nodeName: 'n1', conditions: { ready: true } } });
    await eventuallyPasses(async () => assert.notEqual(await tor.path('198.51.100.9/32'), undefined));
    const { v4Ip = '' } = await statusOf('blue-external');
    for (const node of nodeNames) assert.equal((await tor.path(host, sides[node][0]))?.nextHop, v4Ip);
    await eventuallyPasses(async () => {
      const { status } = await controller.kube.get(bgpAdvertisements, { name: 'thieves' });
      assert.match(JSON.stringify(status), /the external IP 203\.0\.113\.200 of [^"]* is an address of OvnEip web/);
    });
    await controller.kube.delete(services, { name: 'thief', namespace: 'default' });
    await eventuallyPasses(async () => assert.equal(await tor.path('198.51.100.9/32'), undefined));
  });

  test('is withdrawn when the last rule goes', async () => {
    await bed.controller.kube.delete(ovnSnatRules, { name: 'web' });
    await eventually('the end of the rule', async () => (await bed.controller.kube.list(ovnSnatRules)).length === 0);
    assert.notEqual(await tor.path(host), undefined);
    await bed.controller.kube.delete(ovnDnatRules, { name: 'web' });
    await eventuallyPasses(async () => assert.equal(await tor.path(host), undefined));
    await eventuallyPasses(async () => assert.equal((await statusOf('web')).gatewayPort, undefined));
  });
});
