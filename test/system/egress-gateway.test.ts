/** VpcEgressGateways, with packets: two nodes that are gateways, a third one that becomes one, and a router with a server behind it that says whom it sees. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { namespaces, vpcEgressGateways, vpcs } from '../../lib/kube/resources.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import {
  addOutside,
  bridgeLabel,
  joinOutside,
  label,
  outside,
  removeOutside,
  restartWritesNothing,
} from './external-bed.ts';
import { words } from './ovn-bed.ts';
import { nodeNames, ServiceBed } from './service-bed.ts';
import { sendFlows, startEcho } from './udp-flows.ts';

const team = { team: 'a' };
const noBridge = { 'net1.provider-network.kubernetes.io/ready': null };
let bed: ServiceBed;

before(async () => {
  bed = await ServiceBed.open();
  await addOutside(bed);
  await bed.addWitness();
  const { controller } = bed;
  await controller.createNamespace('one', team);
  await controller.create(vpcs, 'blue', {});
  await controller.createSubnet('blue-net', { vpc: 'blue', cidrBlock: '10.90.0.0/16,fd00:90::/112' });
  await controller.createSubnet('blue-rest', { vpc: 'blue', cidrBlock: '10.91.0.0/16,fd00:91::/112' });
  await eventually('the networks', () => controller.row('Logical_Switch', 'blue-rest') !== undefined);
  await bed.plugPod('t1', 'n1', { namespace: 'one' });
  await bed.plugPod('t2', 'n2', { namespace: 'one' });
  await bed.plugPod('d1', 'n1');
  await bed.plugPod('b1', 'n1', { annotations: { 'ovn.kubernetes.io/logical_switch': 'blue-net' } });
  await bed.plugPod('b2', 'n2', { annotations: { 'ovn.kubernetes.io/logical_switch': 'blue-rest' } });
});

after(async () => {
  const opened = bed as ServiceBed | undefined;
  if (opened !== undefined) removeOutside(opened);
  await opened?.close();
});

interface Status {
  readonly ready?: boolean;
  readonly externalIPs?: readonly string[];
  readonly workload?: { readonly nodes?: readonly string[] };
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

async function statusOf(name: string): Promise<Status> {
  const { status } = await bed.controller.kube.get(vpcEgressGateways, { namespace: 'one', name });
  return fieldsOf(status);
}

function becomesReady(name: string): Promise<Status> {
  return eventually(`VpcEgressGateway ${name}`, async () => {
    const status = await statusOf(name);
    if (status.ready !== true) throw new Error(JSON.stringify(status));
    return status;
  });
}

async function create(name: string, spec: object): Promise<Status> {
  await bed.controller.create(vpcEgressGateways, name, { externalSubnet: 'external', ...spec }, 'one');
  return becomesReady(name);
}

/** Addresses with which a pod was seen outside, over some connections. */
async function seen(from: string, server: string, times: number): Promise<ReadonlySet<string>> {
  const answers = await Promise.all(Array.from({ length: times }, () => bed.connect(from, server)));
  return new Set(answers.map((answer) => answer.replace('lan ', '')));
}

async function becomesSeen(from: string, expected: readonly string[], index: 0 | 1): Promise<void> {
  await eventually(`${from} is seen as ${expected.join(' and ')}`, async () => {
    const found = [...(await seen(from, outside.server[index], 8 * expected.length))].sort();
    if (found.join() !== expected.toSorted().join()) throw new Error(found.join());
    return true;
  });
}

/** The addresses of one family. */
function ofFamily({ externalIPs = [] }: Status, index: 0 | 1): readonly string[] {
  return externalIPs.map((pair) => pair.split(',')[index] ?? '');
}

async function setBridges(labels: Readonly<Record<string, string | null>>): Promise<void> {
  for (const node of nodeNames) await label(bed, node, labels);
}

/** What a server outside sees of a pod that tries to reach it. */
function packetsOf(pod: string): Promise<string> {
  const ping = `timeout 2 ping -c5 -i0.2 -W1 ${outside.server[0]}`;
  return bed.packets(outside.name, 'br0', `icmp and dst host ${outside.server[0]}`, async () => {
    await Promise.resolve();
    try {
      bed.in(pod, ping);
    } catch {
      // Nothing answers.
    }
  });
}

function membersOf(): readonly string[] {
  const sets = bed.controller.rows('Address_Set').filter(({ name }) => /^VEG.*ipv4$/.test(String(name)));
  return sets.flatMap(({ addresses }) => addresses as readonly string[]).sort();
}

describe('a VpcEgressGateway', () => {
  test('gives the pods of a namespace fixed addresses, on several nodes, and other pods none', async () => {
    const status = await create('out', {
      replicas: 2,
      bfd: { enabled: true },
      selectors: [{ namespaceSelector: { matchLabels: team } }],
    });
    assert.deepEqual([...(status.workload?.nodes ?? [])].sort(), [...nodeNames]);
    for (const index of [0, 1] as const)
      for (const pod of ['t1', 't2']) await becomesSeen(pod, ofFamily(status, index), index);
    assert.equal(await bed.connect('d1', outside.server[0]), 'silence');
    // A host of the network outside itself.
    const near = await bed.connect('t1', outside.router[0]);
    assert.ok(ofFamily(status, 0).includes(near.replace('lan ', '')), near);
  });

  test('follows labels by its address set alone', async () => {
    const { controller } = bed;
    const [own] = [['t1', 't2'].map((pod) => bed.addressesOf(pod)[0] ?? '').sort()];
    await eventuallyPasses(() => assert.deepEqual(membersOf(), own));
    const rowsOf = (): readonly string[] =>
      ['Logical_Router_Policy', 'NAT', 'Logical_Router_Static_Route', 'Logical_Router_Port'].flatMap((table) =>
        controller.rows(table).map((row) => JSON.stringify(row)),
      );
    const before = rowsOf();
    const relabel = (labels: object): Promise<unknown> =>
      controller.kube.patch(namespaces, { name: 'one' }, 'merge', { metadata: { labels } });
    await relabel({ team: 'b' });
    await eventuallyPasses(() => assert.deepEqual(membersOf(), []));
    await relabel(team);
    await eventuallyPasses(() => assert.deepEqual(membersOf(), own));
    assert.deepEqual(rowsOf(), before);
  });

  test('leads a network of a custom VPC out, which has no other way, and no other network', async () => {
    const status = await create('blue', { vpc: 'blue', policies: [{ snat: true, subnets: ['blue-net'] }] });
    for (const index of [0, 1] as const) await becomesSeen('b1', ofFamily(status, index), index);
    assert.equal(await packetsOf('b2'), '');
  });

  test('lets nothing out where no node can have a port, keeps its addresses, and a restart changes nothing', async () => {
    const { controller } = bed;
    const addresses = (await statusOf('out')).externalIPs;
    await setBridges(noBridge);
    await eventuallyPasses(async () => {
      const { conditions = [] } = await statusOf('out');
      assert.equal(conditions.find(({ type }) => type === 'Ready')?.reason, 'NoGatewayNode');
    });
    await eventuallyPasses(() => {
      const drops = controller.rows('Logical_Router_Policy').filter(({ action }) => action === 'drop');
      assert.equal(drops.filter(({ match }) => String(match).includes('$VEG.')).length, 2);
    });
    words(`ovn-nbctl --timeout=60 --wait=hv --db=${controller.server.remote} sync`);
    assert.equal(await packetsOf('t1'), '');
    await setBridges(bridgeLabel);
    assert.deepEqual((await becomesReady('out')).externalIPs, addresses);
    await becomesReady('blue');
    await restartWritesNothing(bed);
    await becomesSeen('t1', ofFamily(await statusOf('out'), 0), 0);
  });

  test('with three nodes, serves all its addresses once one has failed, and the flows of the others go on', async (context) => {
    const { controller } = bed;
    await joinOutside(bed, 'n3');
    await controller.kube.patch(vpcEgressGateways, { namespace: 'one', name: 'out' }, 'merge', {
      spec: { replicas: 3 },
    });
    const { workload } = await eventually('three ports', async () => {
      const status = await becomesReady('out');
      if (status.workload?.nodes?.length !== 3) throw new Error(JSON.stringify(status));
      return status;
    });
    const addresses = ofFamily(await statusOf('out'), 0);
    await becomesSeen('t1', addresses, 0);
    bed.favourSwitches();
    const echo = await startEcho(bed.space(outside.name), 7000, outside.server[0]);
    try {
      const target = { address: outside.server[0], port: 7000, flows: 300, intervalMs: 200 };
      const stop = sendFlows(bed.space('t1'), target);
      // The sender has answers before the node fails.
      await becomesSeen('t1', addresses, 0);
      const killedMs = Date.now();
      bed.killSwitch('n2');
      await eventually('all addresses are served again', async () => {
        const chassis = words(
          `ovn-sbctl --timeout=60 --db=${bed.southbound} --bare --columns=_uuid find chassis name=chassis-n2`,
        );
        const ports = words(
          `ovn-sbctl --timeout=60 --db=${bed.southbound} --bare --columns=chassis find port_binding type=chassisredirect`,
        );
        const held = ports.split(/\s+/).filter((one) => one !== '');
        return held.length > 0 && !held.includes(chassis.trim());
      });
      await becomesSeen('t1', addresses, 0);
      const { flows, stallMs } = await stop();
      const by = Map.groupBy(flows, ({ seenAs }) => seenAs);
      const gapsOf = (address: string): readonly number[] =>
        (by.get(address) ?? [])
          // Connections that began a moment ago may have lost their first packets.
          .map(({ gapMs, gapAtMs }) => (gapAtMs < killedMs - target.intervalMs ? 0 : gapMs))
          .sort((a, b) => a - b);
      for (const [index, address] of addresses.entries()) {
        const gaps = gapsOf(address);
        const cut = `${gaps.filter((gap) => gap > 0).length} of ${gaps.length} flows were cut, for at most ${gaps.at(-1) ?? 0} ms`;
        context.diagnostic(
          `${address} of ${workload?.nodes?.[index] ?? ''}: ${cut}; the sender stood still for ${stallMs} ms`,
        );
      }
      assert.equal(by.get(''), undefined, 'each flow had an answer');
      const isShared = controller
        .rows('Logical_Router_Static_Route')
        .some(({ selection_fields: fields }) => Array.isArray(fields) && fields.length > 0);
      // Older versions of OVN leave the ports of UDP out of the hash.
      if (!isShared) return assert.equal(by.size, 1);
      for (const address of addresses) {
        const count = gapsOf(address).length;
        // Open vSwitch deals 16 values of the hash to three ports, so that one has six of them: 130 flows were too few once in fifty runs.
        assert.ok(count >= 60 && count <= 150, `${address} has ${count} of 300 flows`);
      }
      for (const [index, address] of addresses.entries()) {
        if (workload?.nodes?.[index] === 'n2') continue;
        const gaps = gapsOf(address);
        assert.equal(gaps[Math.floor(gaps.length / 2)], 0, `most flows of ${address} lost nothing`);
      }
    } finally {
      echo.kill('SIGKILL');
    }
  });

  test('leaves nothing behind', async () => {
    const { controller } = bed;
    for (const name of ['blue', 'out']) await controller.kube.delete(vpcEgressGateways, { namespace: 'one', name });
    const tables = ['Logical_Router', 'Logical_Router_Port', 'Logical_Router_Policy', 'Logical_Switch_Port', 'NAT'];
    const isOf = (row: object): boolean => /veg@|VEG\.|\.own\./.test(JSON.stringify(row));
    await eventuallyPasses(() => {
      const left = [...tables, 'Gateway_Chassis', 'Address_Set', 'Logical_Router_Static_Route'].flatMap((table) =>
        controller.rows(table).filter(isOf),
      );
      assert.deepEqual(left, []);
      assert.deepEqual(controller.rows('NAT'), []);
    });
  });
});
