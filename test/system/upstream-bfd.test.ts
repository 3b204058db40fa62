/** BFD with routers outside, with packets: a VPC with two Subnets outside, the router of each in a namespace of its own, with BIRD. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { ovnEips, subnets, vlans, vpcs } from '../../lib/kube/resources.ts';
import { conditionsOf } from '../../lib/api/conditions.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import { addOutside, gatewayLabel, label, outside, removeOutside } from './external-bed.ts';
import { words } from './ovn-bed.ts';
import { ServiceBed } from './service-bed.ts';
import { sendFlows, startEcho } from './udp-flows.ts';

const dmz = {
  name: 'dmz',
  vlan: 100,
  cidrs: '198.51.100.0/24,2001:db8:100::/64',
  router: ['198.51.100.1', '2001:db8:100::1'],
} as const;
const networks = ['10.90.0.0/16', 'fd00:90::/112'] as const;
const places = { external: outside, dmz } as const;
type Place = keyof typeof places;

let bed: ServiceBed;
const routers = new Map<Place, ChildProcess>();

function inDmz(): string {
  return bed.space(dmz.name);
}

/** A second router, in a VLAN of the bridge of n1, with the same server behind it. */
async function addDmz(): Promise<void> {
  words(`ip netns add ${inDmz()}`);
  words(`ip link add dmz0 netns ${inDmz()} type veth peer name dmz_h netns ${bed.space('n1')}`);
  bed.in('n1', 'ip link set dmz_h up');
  for (const [place, device] of [
    ['n1', 'dmz_h'],
    [dmz.name, 'dmz0'],
  ] as const)
    bed.in(place, `ethtool -K ${device} tx off`);
  words(`ovs-vsctl --no-wait --timeout=60 --db=unix:${bed.dir}/n1/db.sock add-port br-ext dmz_h tag=${dmz.vlan}`);
  bed.batch(dmz.name, [
    'link set lo up',
    'link set dmz0 up',
    `addr add ${dmz.router[0]}/24 dev dmz0`,
    `addr add ${dmz.router[1]}/64 dev dmz0 nodad`,
    `addr add ${outside.server[0]}/32 dev lo`,
    `addr add ${outside.server[1]}/128 dev lo nodad`,
  ]);
  bed.serve(dmz.name, 80);
  await bed.controller.create(vlans, 'dmz', { id: dmz.vlan, provider: 'net1' });
  await bed.controller.create(subnets, 'dmz', {
    vlan: 'dmz',
    cidrBlock: dmz.cidrs,
    gateway: dmz.router.join(),
    excludeIps: ['198.51.100.1..198.51.100.9', '2001:db8:100::1..2001:db8:100::f'],
  });
}

/** Addresses of the VPC's router in a Subnet outside. */
async function portOf(place: Place): Promise<readonly string[]> {
  return eventually(`the port in ${place}`, async () => {
    const { v4Ip, v6Ip } = await bed.controller.status(ovnEips, `blue-${place}`);
    if (typeof v4Ip !== 'string' || typeof v6Ip !== 'string' || v6Ip === '') throw new Error('no address');
    return [v4Ip, v6Ip];
  });
}

/** Starts BIRD on the router, with BFD towards the VPC. */
async function startBfd(place: Place): Promise<void> {
  const { name } = places[place];
  const device = place === 'dmz' ? 'dmz0' : 'br0';
  const config = `${bed.dir}/bird-${place}.conf`;
  const neighbors = (await portOf(place)).map((address) => `neighbor ${address} dev "${device}";`);
  const timing = 'min rx interval 100 ms; min tx interval 100 ms; idle tx interval 300 ms; multiplier 3;';
  writeFileSync(
    config,
    `router id 192.0.2.1;\nprotocol device {}\nprotocol bfd { interface "${device}" { ${timing} }; ${neighbors.join(' ')} }\n`,
  );
  const argv = ['netns', 'exec', bed.space(name), 'bird', '-f', '-c', config, '-s', `${bed.dir}/bird-${place}.ctl`];
  routers.set(place, spawn('ip', argv, { stdio: 'ignore' }));
}

async function endBfd(place: Place): Promise<void> {
  const child = routers.get(place);
  if (child === undefined) return;
  routers.delete(place);
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** The router and the server behind it stop to answer, without a word. */
function die(place: Place): void {
  const chains = ['input', 'output'].map(
    (hook) => `chain ${hook} { type filter hook ${hook} priority 0; policy drop; }`,
  );
  bed.in(places[place].name, 'nft', `table inet dead { ${chains.join('; ')}; }`);
}

function revive(place: Place): void {
  bed.in(places[place].name, 'nft delete table inet dead');
}

async function reason(): Promise<string> {
  const { status } = await bed.controller.kube.get(vpcs, { name: 'blue' });
  return conditionsOf(fieldsOf(status)).find(({ type }) => type === 'UpstreamReachable')?.reason ?? '';
}

function becomes(expected: string): Promise<void> {
  return eventuallyPasses(async () => assert.equal(await reason(), expected));
}

/** By which router the server is reached. */
function leavesBy(name: string, index: 0 | 1 = 0): Promise<unknown> {
  return bed.until('b1', outside.server[index], new RegExp(`^${name} `));
}

before(async () => {
  bed = await ServiceBed.open();
  await addOutside(bed);
  await addDmz();
  await label(bed, 'n1', gatewayLabel);
  await bed.controller.create(vpcs, 'blue', {
    enableExternal: true,
    enableBfd: true,
    extraExternalSubnets: ['dmz'],
  });
  await bed.controller.createSubnet('blue-net', { vpc: 'blue', cidrBlock: networks.join() });
  await eventually('the network', () => bed.controller.row('Logical_Switch', 'blue-net') !== undefined);
  await bed.addPod('b1', 'n2', { 'ovn.kubernetes.io/logical_switch': 'blue-net' });
  for (const place of ['external', 'dmz'] as const)
    for (const [index, address] of (await portOf(place)).entries())
      bed.in(places[place].name, `ip route add ${networks[index] ?? ''} via ${address}`);
});

after(async () => {
  for (const place of routers.keys()) await endBfd(place);
  const opened = bed as ServiceBed | undefined;
  if (opened !== undefined) {
    words(`ip netns del ${inDmz()}`);
    removeOutside(opened);
  }
  await opened?.close();
});

describe('a VPC with two routers outside', () => {
  test('leaves by the first, also while neither speaks BFD', async () => {
    await becomes('RouterHasNoBfd');
    for (const index of [0, 1] as const) await leavesBy('lan', index);
  });

  test('leaves by the other once the first is dead, before the controller knows of it', async (context) => {
    for (const place of ['external', 'dmz'] as const) await startBfd(place);
    await becomes('UpstreamUp');
    for (const index of [0, 1] as const) await leavesBy('lan', index);
    words(`ovn-nbctl --timeout=60 --wait=hv --db=${bed.controller.server.remote} sync`);
    bed.favourSwitches();
    const echoes = await Promise.all(['lan', 'dmz'].map((name) => startEcho(bed.space(name), 7000, outside.server[0])));
    try {
      const stop = sendFlows(bed.space('b1'), { address: outside.server[0], port: 7000, flows: 10, intervalMs: 20 });
      await leavesBy('lan');
      die('external');
      await leavesBy('dmz');
      const { gapsMs, stallMs } = await stop();
      // The controller waits for three seconds.
      assert.ok((gapsMs[0] ?? 0) < 3000, `cut for ${gapsMs[0]} ms`);
      context.diagnostic(`cut for ${gapsMs.join(', ')} ms; the sender stood still for ${stallMs} ms`);
    } finally {
      for (const echo of echoes) echo.kill('SIGKILL');
    }
    await leavesBy('dmz', 1);
    await becomes('UpstreamDown');
  });

  test('stays there over a restart, which writes nothing, and while the first has just come back', async () => {
    const { controller } = bed;
    await controller.quiet();
    const versions = await controller.versions();
    await controller.kill();
    const { changes } = controller;
    await bed.startController();
    assert.equal(controller.changes, changes);
    assert.deepEqual(await controller.versions(), versions);
    revive('external');
    await eventually('the session', () => controller.rows('BFD').every(({ status }) => status === 'up'));
    await leavesBy('dmz');
  });

  test('is not cut off by routers that stop to speak BFD for ever', async () => {
    for (const place of ['external', 'dmz'] as const) await endBfd(place);
    const hops: readonly string[] = [...outside.router, ...dmz.router];
    await eventuallyPasses(() => {
      const routes = bed.controller
        .rows('Logical_Router_Static_Route')
        .filter(({ route_table: table, nexthop }) => table === '' && hops.includes(String(nexthop)))
        // A route to a router itself names it for policies.
        .filter(({ ip_prefix: prefix, nexthop }) => prefix !== `${String(nexthop)}/128`);
      const found = routes.map(({ ip_prefix: prefix, nexthop, bfd }) =>
        [prefix, nexthop, bfd ?? 'without a session'].join(' '),
      );
      const expected = [`0.0.0.0/0 ${outside.router[0]}`, `::/0 ${outside.router[1]}`];
      assert.deepEqual(
        found.toSorted(),
        expected.map((text) => `${text} without a session`),
      );
    });
    for (const index of [0, 1] as const) await leavesBy('lan', index);
    await becomes('UpstreamDown');
  });

  test('has no sessions any more without the field', async () => {
    await bed.controller.kube.patch(vpcs, { name: 'blue' }, 'merge', { spec: { enableBfd: false } });
    await becomes('');
    await eventuallyPasses(() => assert.deepEqual(bed.controller.rows('BFD'), []));
    for (const index of [0, 1] as const) await leavesBy('lan', index);
  });
});
