/**
 * Underlay in the controller, on a real API server, a real northbound database and ovn-northd, with ovn-trace for the paths of
 * packets. The test writes the daemons' labels and annotations of Nodes.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ovnEnvironment, schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { ips, nodes, pods, providerNetworks, subnets, vlans, vpcs } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import { ControllerBed } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
let southbound: TestServer;
let northd: ChildProcess;

before(async () => {
  [bed, southbound] = await Promise.all([ControllerBed.open(), startOvsdbServer({ schema: schemaFile('ovn-sb') })]);
  const files = ['pid', 'ctl'].map((name) => join(southbound.dir, `northd.${name}`));
  const args = [`--ovnnb-db=${bed.server.remote}`, `--ovnsb-db=${southbound.remote}`];
  northd = spawn('ovn-northd', [...args, `--pidfile=${files[0]}`, `--unixctl=${files[1]}`], {
    stdio: 'ignore',
    env: ovnEnvironment(),
  });
  await bed.createNode('n1', '172.30.1.11');
  // This node is in the LAN of an underlay subnet.
  await bed.createNode('n2', '192.168.10.12');
  for (const name of ['plain', 'joined', 'logical', 'blue']) await bed.createNamespace(name);
  await bed.start();
});
after(async () => {
  await bed.close();
  northd.kill('SIGKILL');
  await once(northd, 'exit');
  await southbound.stop();
});

const edit = (resource: Resource, name: string, spec: object): Promise<unknown> =>
  bed.kube.patch(resource, { name }, 'merge', { spec });

interface NodeCondition {
  readonly type: string;
  readonly node?: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Waits until the condition `Ready` of an object, or of one of its nodes, matches `pattern`, as `status reason message`. */
function ready(resource: Resource, name: string, pattern: RegExp, node = ''): Promise<string> {
  return eventually(`${resource.kind} ${name} ${node} like ${pattern}`, async () => {
    const conditions = ((await bed.status(resource, name))['conditions'] ?? []) as readonly NodeCondition[];
    const is = conditions.find((one) => one.type === 'Ready' && (one.node ?? '') === node);
    const text = `${is?.status} ${is?.reason} ${is?.message}`;
    if (!pattern.test(text)) throw new Error(text);
    return text;
  });
}

async function isGone(resource: Resource, name: string): Promise<boolean> {
  try {
    await bed.kube.get(resource, { name });
    return false;
  } catch (error) {
    if (error instanceof KubeApiError && error.reason === 'NotFound') return true;
    throw error;
  }
}

const marks = (key: string): string => `net1.provider-network.kubernetes.io/${key}`;

/** Writes labels and annotations of a Node like its daemon. */
async function say(node: string, labels: object, annotations: object = {}): Promise<void> {
  await bed.kube.patch(nodes, { name: node }, 'merge', { metadata: { labels, annotations } });
}

function ovn(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', env: ovnEnvironment() });
}

interface Sender {
  readonly namespace: string;
  readonly subnet: string;
  /** The router port that the pod sends to; absent if it sends to a router of the physical network. */
  readonly router?: string;
  /** `web` by default. */
  readonly pod?: string;
}

/** The output of ovn-trace for a pod's packet. */
function traced(
  { namespace, subnet, router, pod = 'web' }: Sender,
  destination: string,
  ...options: readonly string[]
): string {
  ovn('ovn-nbctl', `--db=${bed.server.remote}`, '--wait=sb', 'sync');
  const [address = ''] = (bed.row('Logical_Switch_Port', `${pod}.${namespace}`)?.['addresses'] ??
    []) as readonly string[];
  const [mac = '', ip = ''] = address.split(' ');
  const gateway = router === undefined ? '02:00:00:00:00:01' : String(bed.row('Logical_Router_Port', router)?.['mac']);
  const packet = `inport=="${pod}.${namespace}" && eth.src==${mac} && eth.dst==${gateway} && ip4.src==${ip} && ip4.dst==${destination} && ip.ttl==64`;
  return ovn('ovn-trace', `--db=${southbound.remote}`, ...options, subnet, packet);
}

/** The port through which a packet leaves OVN. */
function exitOf(sender: Sender, destination: string): string {
  const text = traced(sender, destination, '--minimal');
  return /output\("([^"]*)"\)/.exec(text)?.[1] ?? `nowhere: ${text}`;
}

/** The next hop of a packet, whose MAC address the router must resolve. Policies come after routes: the last match is the next hop. */
function nextHopOf(sender: Sender, destination: string): string {
  const text = traced(sender, destination, '--detailed');
  const hops = [...text.matchAll(/\breg0 = ([\d.]+);/g)].map(([, hop]) => hop);
  return /\bdrop;/.test(text) ? `dropped: ${text}` : (hops.at(-1) ?? text);
}

const overlay: Sender = { namespace: 'default', subnet: 'ovn-default', router: 'ovn-cluster-ovn-default' };
const joined: Sender = { namespace: 'joined', subnet: 'joined', router: 'ovn-cluster-joined' };

describe('a ProviderNetwork and its Vlans', () => {
  test('report the nodes that are ready according to their daemons', async () => {
    await bed.create(providerNetworks, 'net1', { defaultInterface: 'eth1' });
    await bed.create(vlans, 'lan', { id: 0, provider: 'net1' });
    await ready(providerNetworks, 'net1', /^False Pending 2 of 2 nodes without it: n1: the daemon has not reported/);
    await say('n1', { [marks('ready')]: 'true', [marks('interface')]: 'eth1', [marks('mtu')]: '1500' });
    const error = 'InterfaceNotFound: node n2 has no interface eth1: correct spec.defaultInterface';
    await say('n2', { [marks('ready')]: 'false' }, { [marks('err_mesg')]: error });
    await ready(providerNetworks, 'net1', /^True Joined interface eth1, MTU 1500$/, 'n1');
    await ready(providerNetworks, 'net1', /^False InterfaceNotFound node n2 has no/, 'n2');
    const { ready: isReady, readyNodes, notReadyNodes, vlans: names } = await bed.status(providerNetworks, 'net1');
    assert.deepEqual([isReady, readyNodes, notReadyNodes, names], [false, ['n1'], ['n2'], ['lan']]);
    await bed.event('ProviderNetworkNotReady', 'net1', /^InterfaceNotFound: 1 of 2 nodes without it: n2: node n2 has/);
    await edit(providerNetworks, 'net1', { excludeNodes: ['n2'] });
    await ready(providerNetworks, 'net1', /^True Joined 1 node has it$/);
    await bed.event('ProviderNetworkReady', 'net1', /1 node has it/);
    const { conditions } = await bed.status(providerNetworks, 'net1');
    assert.deepEqual(
      (conditions as readonly NodeCondition[]).map(({ node }) => node),
      ['', 'n1'],
    );
  });

  test('report the plan of a dry run for each node', async () => {
    await bed.kube.patch(providerNetworks, { name: 'net1' }, 'merge', {
      metadata: { annotations: { 'isthmus.network/dry-run': 'true' } },
      spec: { excludeNodes: null },
    });
    const plan = 'eth1 would become a port of br-net1, which would take over 192.168.10.12/24';
    await say('n2', { [marks('ready')]: 'false' }, { [marks('plan')]: plan, [marks('err_mesg')]: null });
    await ready(providerNetworks, 'net1', /^False DryRun eth1 would become/, 'n2');
    await bed.kube.patch(providerNetworks, { name: 'net1' }, 'merge', { metadata: { annotations: null } });
    await say('n2', { [marks('ready')]: 'true' }, { [marks('plan')]: null });
    await ready(providerNetworks, 'net1', /^True Joined 2 nodes have it$/);
  });

  test('put only the older of two Vlans with the same id in force, until it is deleted', async () => {
    await bed.create(vlans, 'again', { id: 0, provider: 'net1' });
    await bed.createSubnet('again', { cidrBlock: '192.168.77.0/24', vlan: 'again' });
    await ready(
      vlans,
      'again',
      /^False VlanConflict id 0 in ProviderNetwork net1 belongs to Vlan lan, which had it first/,
    );
    assert.deepEqual((await bed.status(vlans, 'again'))['conflict'], true);
    await bed.untilCondition('again', 'Ready', 'False', 'VlanConflict');
    await bed.event('VlanNotReady', 'again', /^VlanConflict/);
    await bed.kube.delete(vlans, { name: 'lan' });
    await ready(vlans, 'again', /^True VlanReady/);
    await bed.untilCondition('again', 'Ready', 'True');
    await bed.kube.delete(subnets, { name: 'again' });
    await bed.kube.delete(vlans, { name: 'again' });
    await eventually('the Vlan is gone', () => isGone(vlans, 'again'));
  });
});

describe('a subnet in a VLAN', () => {
  test('is connected to the VLAN, and its pods use the physical gateway', async () => {
    await bed.create(vlans, 'v10', { id: 10, provider: 'net1' });
    await bed.createSubnet('plain', {
      cidrBlock: '192.168.10.0/24',
      gateway: '192.168.10.1',
      excludeIps: ['192.168.10.2..192.168.10.11'],
      vlan: 'v10',
      namespaces: ['plain'],
    });
    await bed.untilCondition('plain', 'Ready', 'True');
    await bed.createPod('web', { namespace: 'plain' });
    assert.equal(await bed.address('web', 'plain'), '192.168.10.13', 'that of node n2 is passed over');
    const annotations = await bed.annotations(pods, 'web', 'plain');
    const of = (key: string): string | undefined => annotations[`ovn.kubernetes.io/${key}`];
    assert.deepEqual(
      [of('gateway'), of('vlan_id'), of('provider_network'), of('logical_router')],
      ['192.168.10.1', '10', 'net1', undefined],
    );
    const localnet = bed.row('Logical_Switch_Port', 'localnet.plain');
    assert.deepEqual(
      [localnet?.['type'], localnet?.['tag'], localnet?.['options'], localnet?.['addresses']],
      ['localnet', 10, { network_name: 'net1' }, ['unknown']],
    );
    assert.equal(bed.row('Logical_Router_Port', 'ovn-cluster-plain'), undefined);
    assert.equal(bed.policy('ip4.dst == 192.168.10.0/24'), undefined);
    assert.equal(exitOf({ namespace: 'plain', subnet: 'plain' }, '192.0.2.1'), 'localnet.plain');
    await eventually('subnets of the Vlan', async () => {
      assert.deepEqual((await bed.status(vlans, 'v10'))['subnets'], ['plain']);
      return true;
    });
    assert.equal([bed.row('Logical_Switch', 'plain')?.['load_balancer'] ?? []].flat().length, 6);
  });

  test('refuses a pod the address of a node', async () => {
    const annotations = { 'ovn.kubernetes.io/ip_address': '192.168.10.12' };
    await bed.createPod('greedy', { namespace: 'plain', annotations });
    await bed.event('AcquireAddressFailed', 'greedy', /192\.168\.10\.12 in subnet plain is that of a node/);
    await bed.deletePod('greedy', 'plain');
  });

  test('changes its port with an edit of the Vlan', async () => {
    await edit(vlans, 'v10', { id: 11 });
    await eventually('the new tag', () => bed.row('Logical_Switch_Port', 'localnet.plain')?.['tag'] === 11);
    await eventually('the new annotation', async () => {
      return (await bed.annotations(pods, 'web', 'plain'))['ovn.kubernetes.io/vlan_id'] === '11';
    });
    await edit(vlans, 'v10', { id: 0 });
    await eventually('no tag', () => bed.row('Logical_Switch_Port', 'localnet.plain')?.['tag'] === null);
    await edit(vlans, 'v10', { id: 10 });
    await eventually('the tag', () => bed.row('Logical_Switch_Port', 'localnet.plain')?.['tag'] === 10);
  });

  test('with a logical gateway is routed like an overlay subnet', async () => {
    const spec = { cidrBlock: '192.168.12.0/24', vlan: 'v10', logicalGateway: true, namespaces: ['logical'] };
    await bed.createSubnet('logical', spec);
    await bed.untilCondition('logical', 'Ready', 'True');
    await bed.createPod('web', { namespace: 'logical' });
    await bed.address('web', 'logical');
    await bed.createPod('web');
    await bed.address('web');
    const sender: Sender = { namespace: 'logical', subnet: 'logical', router: 'ovn-cluster-logical' };
    assert.equal(exitOf(sender, await bed.address('web')), 'web.default');
    assert.equal(exitOf(sender, '192.0.2.1'), 'node-n1');
    assert.equal(exitOf(overlay, await bed.address('web', 'logical')), 'web.logical');
    assert.equal(bed.policy('ip4.dst == 192.168.12.0/24')?.['priority'], 31_000);
    await bed.deletePod('web', 'logical');
    await bed.kube.delete(subnets, { name: 'logical' });
    await eventually('the subnet is gone', () => isGone(subnets, 'logical'));
    await eventually('its port', () => bed.row('Logical_Switch_Port', 'localnet.logical') === undefined);
  });

  test('joined with the overlay reaches it through the router, and other networks through the physical gateway', async () => {
    await bed.createSubnet('joined', {
      cidrBlock: '192.168.13.0/24',
      gateway: '192.168.13.1',
      vlan: 'v10',
      namespaces: ['joined'],
      u2oInterconnection: true,
    });
    await bed.untilCondition('joined', 'Ready', 'True');
    const status = await bed.status(subnets, 'joined');
    const port = bed.row('Logical_Router_Port', 'ovn-cluster-joined');
    assert.deepEqual(
      [status['u2oInterconnectionIP'], status['u2oInterconnectionMAC'], status['u2oInterconnectionVPC']],
      ['192.168.13.2', port?.['mac'], 'ovn-cluster'],
    );
    const ip = await bed.kube.get(ips, { name: 'u2o-interconnection.ovn-cluster.joined' });
    assert.equal((ip['spec'] as { v4IpAddress: string }).v4IpAddress, '192.168.13.2');
    await bed.createPod('web', { namespace: 'joined' });
    assert.equal(await bed.address('web', 'joined'), '192.168.13.3');
    assert.equal((await bed.annotations(pods, 'web', 'joined'))['ovn.kubernetes.io/gateway'], '192.168.13.2');
    assert.equal(exitOf(joined, await bed.address('web')), 'web.default', 'to the overlay');
    assert.equal(exitOf(overlay, '192.168.13.3'), 'web.joined', 'from the overlay');
    assert.equal(nextHopOf(joined, '192.0.2.1'), '192.168.13.1', 'to the world');
    assert.equal(nextHopOf(joined, '172.30.1.11'), '192.168.13.1', 'to a node');
    assert.equal(exitOf(overlay, '172.30.1.11'), 'node-n1', 'from the overlay to a node, as before');
    const set = [bed.row('Address_Set', 'joined.u2o_exclude_ip.ip4')?.['addresses'] ?? []].flat();
    assert.deepEqual(set.map(String).sort(), ['172.30.1.11', '192.168.10.12']);
  });

  test('joined with overlay-only routing sends packets for other networks to the physical gateway', async () => {
    await edit(subnets, 'joined', { u2oFeatures: { overlayOnlyRouting: true } });
    await eventually('policy', () => bed.policy('ip4.src == 192.168.13.0/24')?.['priority'] === 30_050);
    assert.equal(exitOf(joined, await bed.address('web')), 'web.default');
    assert.equal(exitOf(overlay, '192.168.13.3'), 'web.joined');
    assert.equal(nextHopOf(joined, '192.0.2.1'), '192.168.13.1');
    assert.deepEqual(bed.row('Address_Set', 'ovn.cluster.u2o_overlay_cidrs.ip4')?.['addresses'], [
      '10.16.0.0/16',
      '100.64.0.0/16',
    ]);
    await edit(subnets, 'joined', { u2oFeatures: null });
    await eventually('policy', () => bed.policy('ip4.src == 192.168.13.0/24')?.['priority'] === 29_000);
    await eventually('no set', () => bed.row('Address_Set', 'ovn.cluster.u2o_overlay_cidrs.ip4') === undefined);
  });

  test('no longer joined keeps its router port until no pod uses it as gateway', async () => {
    await edit(subnets, 'joined', { u2oInterconnection: false });
    await eventually('no address of the router', async () => {
      return (await bed.status(subnets, 'joined'))['u2oInterconnectionIP'] === undefined;
    });
    const port = (): unknown => bed.row('Logical_Router_Port', 'ovn-cluster-joined')?.['networks'];
    assert.deepEqual(port(), ['192.168.13.2/24']);
    assert.match(
      await bed.untilCondition('joined', 'Ready', 'True'),
      /former gateway 192\.168\.13\.2 keeps answering until/,
    );
    assert.equal(exitOf(joined, await bed.address('web')), 'web.default');
    await bed.deletePod('web', 'joined');
    await eventually('no port of the router', () => port() === undefined);
    await eventually('no policy', () => bed.policy('ip4.src == 192.168.13.0/24') === undefined);
    await eventually('no IP object', () => isGone(ips, 'u2o-interconnection.ovn-cluster.joined'));
    await edit(subnets, 'joined', { u2oInterconnection: true });
    await bed.createPod('web', { namespace: 'joined' });
    await bed.address('web', 'joined');
  });

  test("in a Vpc of the user reaches the Vpc's networks through its router", async () => {
    await bed.create(vpcs, 'blue', {});
    await bed.createSubnet('blue-pods', { cidrBlock: '10.80.0.0/24', vpc: 'blue', namespaces: ['blue'] });
    await bed.create(vlans, 'v20', { id: 20, provider: 'net1' });
    // The same addresses are in use in another VLAN and another Vpc.
    const spec = { cidrBlock: '192.168.13.0/24', vpc: 'blue', vlan: 'v20', u2oInterconnection: true };
    await bed.createSubnet('blue-lan', spec);
    await bed.untilCondition('blue-lan', 'Ready', 'True');
    await bed.createPod('web', { namespace: 'blue', annotations: { 'ovn.kubernetes.io/logical_switch': 'blue-lan' } });
    await bed.createPod('db', { namespace: 'blue' });
    await bed.address('web', 'blue');
    const sender: Sender = { namespace: 'blue', subnet: 'blue-lan', router: 'blue-blue-lan' };
    assert.equal(exitOf(sender, await bed.address('db', 'blue')), 'db.blue');
    assert.equal(nextHopOf(sender, '192.0.2.1'), '192.168.13.1');
    const other: Sender = { namespace: 'blue', subnet: 'blue-pods', router: 'blue-blue-pods', pod: 'db' };
    assert.equal(exitOf(other, await bed.address('web', 'blue')), 'web.blue');
    assert.match(exitOf(other, '192.0.2.1'), /^nowhere/, 'no way out for the overlay of this Vpc, as before');
    for (const name of ['web', 'db']) await bed.deletePod(name, 'blue');
    for (const name of ['blue-lan', 'blue-pods']) await bed.kube.delete(subnets, { name });
    for (const [resource, name] of [
      [vlans, 'v20'],
      [vpcs, 'blue'],
    ] as const)
      await bed.kube.delete(resource, { name });
    await eventually('all of it is gone', async () => (await isGone(vpcs, 'blue')) && (await isGone(vlans, 'v20')));
  });
});

const wrong = [
  ['an unknown Vlan', { vlan: 'absent' }, 'VlanNotFound', /spec\.vlan names Vlan absent/],
  ['no addresses', { vlan: 'v10', protocol: 'Mac', cidrBlock: null }, 'NotSupported', /without IP addresses/],
  ['a CIDR in use in the VLAN', { vlan: 'v10', cidrBlock: '192.168.10.128/25' }, 'CIDROverlap', /subnet plain/],
  [
    'a router address outside the CIDR',
    { vlan: 'v10', u2oInterconnection: true, u2oInterconnectionIP: '192.168.98.2' },
    'U2OInvalid',
    /192\.168\.98\.2 is not a host address of spec\.cidrBlock/,
  ],
  [
    'the gateway as router address',
    { vlan: 'v10', u2oInterconnection: true, u2oInterconnectionIP: '192.168.99.1' },
    'U2OInvalid',
    /is the physical gateway/,
  ],
  [
    'overlay routing without the router',
    { vlan: 'v10', u2oFeatures: { overlayOnlyRouting: true } },
    'U2OInvalid',
    /needs spec\.u2oInterconnection/,
  ],
  ['nodes as gateways', { vlan: 'v10', gatewayType: 'centralized' }, 'GatewayTypeIgnored', /physical network/],
] as const;

describe('invalid input', () => {
  for (const [what, spec, reason, pattern] of wrong) {
    test(`a subnet with ${what} is refused with a reason, and does not affect others`, async () => {
      await bed.createSubnet('wrong', { cidrBlock: '192.168.99.0/24', ...spec });
      assert.match(await bed.untilCondition('wrong', 'Ready', 'False', reason), pattern);
      await bed.event('ValidateLogicalSwitchFailed', 'wrong', pattern);
      await bed.untilCondition('plain', 'Ready', 'True');
      await bed.kube.delete(subnets, { name: 'wrong' });
      await eventually('it is gone', () => isGone(subnets, 'wrong'));
    });
  }

  test('a Vlan of a missing ProviderNetwork comes into force when that is created', async () => {
    await bed.create(vlans, 'early', { id: 5, provider: 'net5' });
    await ready(vlans, 'early', /^False ProviderNetworkNotFound .*net5, which does not exist: create it/);
    await bed.create(providerNetworks, 'net5', { defaultInterface: 'eth5' });
    await ready(vlans, 'early', /^True/);
    await bed.kube.delete(vlans, { name: 'early' });
    await eventually('gone', () => isGone(vlans, 'early'));
    await bed.kube.delete(providerNetworks, { name: 'net5' });
    await eventually('gone', () => isGone(providerNetworks, 'net5'));
  });
});

describe('a configuration in use', () => {
  test('is not rewritten by a restart', async () => {
    await bed.quiet();
    const [before, changes] = [await bed.versions(), bed.changes];
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.deepEqual(await bed.versions(), before);
    assert.equal(bed.changes, changes);
  });

  test('stays while its Vlan and ProviderNetwork wait for deletion', async () => {
    await bed.kube.delete(providerNetworks, { name: 'net1' });
    await bed.kube.delete(vlans, { name: 'v10' });
    await ready(providerNetworks, 'net1', /^False Deleting waits for the deletion of vlans v10$/);
    await ready(vlans, 'v10', /^False Deleting waits for the deletion of subnets joined, plain$/);
    await bed.createSubnet('late', { cidrBlock: '192.168.97.0/24', vlan: 'v10' });
    assert.match(await bed.untilCondition('late', 'Ready', 'False', 'VlanNotFound'), /is being deleted/);
    await bed.create(vlans, 'v97', { id: 97, provider: 'net1' });
    await ready(
      vlans,
      'v97',
      /^False ProviderNetworkNotFound the Vlan is in ProviderNetwork net1, which is being deleted/,
    );
    assert.ok(bed.row('Logical_Switch_Port', 'localnet.plain'));
    for (const name of ['joined', 'plain']) await bed.kube.delete(subnets, { name });
    assert.match(await bed.untilCondition('joined', 'Ready', 'False', 'Deleting'), /web\.joined/);
    assert.ok(bed.row('Logical_Router_Port', 'ovn-cluster-joined'), 'the router stays for the pod');
    for (const namespace of ['joined', 'plain']) await bed.deletePod('web', namespace);
    for (const [resource, name] of [
      [subnets, 'joined'],
      [subnets, 'plain'],
      [vlans, 'v10'],
      [providerNetworks, 'net1'],
    ] as const)
      await eventually(`${resource.kind} ${name} is gone`, () => isGone(resource, name));
    await ready(subnets, 'late', /^False VlanNotFound .*v10, which does not exist/);
    await ready(vlans, 'v97', /^False ProviderNetworkNotFound .*net1, which does not exist/);
    await eventually('its set', () => bed.row('Address_Set', 'joined.u2o_exclude_ip.ip4') === undefined);
    await eventually('its IP object', () => isGone(ips, 'u2o-interconnection.ovn-cluster.joined'));
  });
});
