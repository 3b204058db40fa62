/**
 * The guard flows for pods in a VLAN of a physical network: frames of a hostile pod neither reach another pod nor leave the node through
 * the interface, and frames of the physical network's own router and DHCP server arrive.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { TestLan } from '../../daemon/testing-lan.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation, localnetPortName, providerNetworkKey } from '../../lib/api/names.ts';
import { nodes, providerNetworks, subnets } from '../../lib/kube/resources.ts';
import { FrameBed, type Place, type Watcher } from './frame-bed.ts';
import * as frames from './frames.ts';
import {
  inTags,
  ip,
  mac,
  ofBridges,
  ofPods,
  ofRouters,
  ofTheirRouter,
  theirMac,
  victimIp,
  type Frames,
} from './pod-frames.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let lan: TestLan;
let bed: FrameBed;
let [attacker, victim]: readonly TestPod[] = [];
let [atVictim, atAttacker, atLan]: readonly Watcher[] = [];

const [ovnRouter, formerGateway] = ['10.16.0.2', '10.16.0.3'];
const vlan = 10;
const localnet = localnetPortName('ovn-default');

before(async () => {
  cluster = await startCluster(node);
  lan = new TestLan(node);
  lan.addNic('eth1', 'p1');
  await node.startDaemon(cluster.kubeconfig);
  await cluster.admin.create(providerNetworks, {
    apiVersion: 'kubeovn.io/v1',
    kind: 'ProviderNetwork',
    metadata: { name: 'phys' },
    spec: { defaultInterface: 'eth1' },
  });
  await eventually('the provider network', async () => {
    const { labels } = (await cluster.admin.get(nodes, { name: 'n1' })).metadata;
    return labels?.[providerNetworkKey('phys', 'ready')] === 'true';
  });
  // Written by the controller in production.
  const note = `10.16.0.0/16 10.16.0.1 phys/${vlan}/u2o router=${ovnRouter} ${formerGateway}@4102444800000`;
  const metadata = { annotations: { [annotation.accepted]: note } };
  await cluster.admin.patch(subnets, { name: 'ovn-default' }, 'merge', { metadata });
  node.nbctl(
    `lsp-add ovn-default ${localnet}`,
    `lsp-set-type ${localnet} localnet`,
    `lsp-set-addresses ${localnet} unknown`,
    `lsp-set-options ${localnet} network_name=phys`,
    `set logical_switch_port ${localnet} tag=${vlan}`,
    // OVN then passes tagged frames, which the guard flows of the ports must drop.
    'set logical_switch ovn-default other_config:vlan-passthru=true',
  );
  bed = new FrameBed(node.dir);
  attacker = await addPod('attacker', ip);
  victim = await addPod('victim', victimIp);
  atVictim = await bed.watch(victim);
  atAttacker = await bed.watch(attacker);
  atLan = await bed.watch(onLan());
  await bed.untilPassing(attacker, mac, atLan);
});

after(async () => {
  await (bed as FrameBed | undefined)?.close();
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

function onLan(): Place {
  return { netns: lan.netns, device: 'p1', vlan };
}

async function addPod(name: string, address: string): Promise<TestPod> {
  const made = await cluster.makePod(name);
  await cluster.allocate(made, address);
  const { status, json } = await node.cni('ADD', made.env);
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  return made;
}

/** The broadcast and multicast frames, which reach the physical network too. */
function toMany(all: Frames): Frames {
  const isToMany = (frame: Buffer): boolean => (frame[0]! & 1) === 1;
  return Object.fromEntries(Object.entries(all).filter(([, frame]) => [frame].flat().every(isToMany)));
}

function hostile(): Frames {
  return {
    ...ofBridges(),
    ...ofRouters(),
    "ARP of OVN's router": frames.gratuitousArp(mac, ovnRouter),
    'ARP of the former gateway': frames.gratuitousArp(mac, formerGateway),
  };
}

test('frames of a hostile pod neither reach another pod nor leave through the interface', async () => {
  const all = { ...inTags(), ...hostile() };
  assert.deepEqual(await bed.arriving(attacker!, mac, atVictim!, all), []);
  assert.deepEqual(await bed.arriving(attacker!, mac, atLan!, all), []);
});

test('frames that pods need arrive, also in the physical network', async () => {
  const all = ofPods();
  assert.deepEqual(await bed.arriving(attacker!, mac, atVictim!, all), Object.keys(all));
  const many = toMany(all);
  assert.ok('ARP of its own' in many && 'DHCPv4 client' in many && 'IGMP report' in many);
  assert.deepEqual(await bed.arriving(attacker!, mac, atLan!, many), Object.keys(many));
});

test('frames of the router and the DHCP server of the physical network reach pods', async () => {
  const all = ofTheirRouter();
  assert.deepEqual(await bed.arriving(onLan(), theirMac, atVictim!, all), Object.keys(all));
  const many = toMany(all);
  assert.deepEqual(await bed.arriving(onLan(), theirMac, atAttacker!, many), Object.keys(many));
});

test('without the guard flows hostile frames reach the pod, and multicast frames reach the physical network', async () => {
  // Tagged frames are in daemon-guard.test.ts: here OVN replaces their tags with the VLAN's.
  node.signal('daemon', 'SIGSTOP');
  exec(
    'ovs-ofctl',
    '-O',
    'OpenFlow15',
    'del-flows',
    `unix:${node.dir}/br-int.mgmt`,
    'cookie=0x6973746800000000/0xffffffff00000000',
  );
  const all = hostile();
  assert.deepEqual(await bed.arriving(attacker!, mac, atVictim!, all), Object.keys(all));
  const many = toMany(all);
  assert.ok('RA to all' in many && 'DHCPv4 to all' in many && 'LLDP to all' in many);
  // The provider network's own bridge drops these.
  const stopped = ['01:80:c2:00:00:00', '01:80:c2:00:00:02', '01:80:c2:00:00:0e', 'CDP'];
  const passing = Object.keys(many).filter((name) => !stopped.includes(name));
  assert.deepEqual(await bed.arriving(attacker!, mac, atLan!, many), passing);
  node.signal('daemon', 'SIGCONT');
});
