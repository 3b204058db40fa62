/** Pods with forged annotations that only the controller may write: it refuses them while it runs and after a restart. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addressConditionOf } from '../../lib/api/pod-addresses.ts';
import type { PodCondition } from '../../lib/api/pod-addresses.ts';
import { ips, pods, statefulSets, vips } from '../../lib/kube/resources.ts';
import { ControllerBed } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.createNode('n2', '172.30.1.12');
  await bed.createNamespace('blue');
  await bed.createSubnet('blue', { cidrBlock: '10.60.0.0/24', namespaces: ['blue'] });
  await bed.createSubnet('both', { cidrBlock: '10.61.0.0/24,fd61::/112' });
});
after(() => bed.close());

/** Forged annotations with all keys that the controller writes for an interface. */
function forged(ip: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const all = {
    allocated: 'true',
    routed: 'true',
    ip_address: ip,
    mac_address: '0a:00:00:00:00:99',
    cidr: '10.16.0.0/16',
    gateway: '10.16.0.1',
    logical_switch: 'ovn-default',
    logical_router: 'ovn-cluster',
    pod_nic_type: 'veth-pair',
    ...more,
  };
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [ovn(key), value]));
}

async function podAddressCondition(name: string, namespace = 'default'): Promise<PodCondition | undefined> {
  return addressConditionOf((await bed.kube.get(pods, { namespace, name }))['status']);
}

async function addressOf(name: string, namespace = 'default'): Promise<string> {
  await eventually(
    `an address of ${name}`,
    async () => (await podAddressCondition(name, namespace))?.status === 'True',
  );
  return (await bed.annotations(pods, name, namespace))[ovn('ip_address')] ?? '';
}

async function restart(): Promise<void> {
  await bed.quiet();
  await bed.kill();
  const text = await bed.dryRun();
  assert.match(text, /adopt 0, insert 0, update 0, mutate 0, delete 0/, text);
  assert.match(text, /Kubernetes: 0 objects made, 0 objects written/, text);
  await bed.start();
  await bed.quiet();
}

describe('forged address annotations of a new pod', () => {
  const refused: readonly (readonly [name: string, annotations: Readonly<Record<string, string>>, code: string])[] = [
    ['of-a-vip', forged('10.16.0.40'), 'AddressConflict'],
    ['of-a-pod', forged('10.16.0.50'), 'AddressConflict'],
    ['of-a-reservation', forged('10.16.0.60'), 'AddressConflict'],
    ['of-the-gateway', forged('10.16.0.1'), 'AddressConflict'],
    ['of-a-mac', forged('10.16.0.70', { mac_address: '0a:00:00:00:00:50' }), 'AddressConflict'],
    ['of-a-junk-mac', forged('10.16.0.71', { mac_address: 'junk' }), 'InvalidAddress'],
    ['of-a-group-mac', forged('10.16.0.71', { mac_address: 'ff:ff:ff:ff:ff:ff' }), 'InvalidAddress'],
    ['out-of-the-cidr', forged('10.17.0.9'), 'AddressOutOfRange'],
    ['of-the-network', forged('10.16.0.0'), 'AddressOutOfRange'],
    ['of-another-subnet', forged('10.60.0.9'), 'AddressOutOfRange'],
    ['of-the-join', forged('100.64.0.2', { logical_switch: 'join' }), 'NotSupported'],
    ['of-no-subnet', forged('10.16.0.72', { logical_switch: 'none' }), 'NoSubnet'],
    ['of-two', forged('10.16.0.73,10.16.0.74'), 'InvalidAddress'],
    ['of-six', forged('fd00::9'), 'AddressOutOfRange'],
    ['of-six-gateway', forged('10.61.0.9,fd61::1', { logical_switch: 'both' }), 'AddressConflict'],
    ['of-six-mapped', forged('::ffff:10.16.0.50', { logical_switch: 'both' }), 'AddressOutOfRange'],
    ['of-great-length', forged(Array(3000).fill('10.16.0.75').join(',')), 'InvalidAddress'],
    ['of-nothing', forged(''), ''],
  ];

  before(async () => {
    await bed.start();
    await bed.create(vips, 'kept', { subnet: 'ovn-default', v4ip: '10.16.0.40' });
    const fixed = { [ovn('ip_address')]: '10.16.0.50', [ovn('mac_address')]: '0a:00:00:00:00:50' };
    await bed.createPod('owner', { annotations: fixed });
    await bed.address('owner');
    const labels = { [ovn('ip_reserved')]: 'true' };
    const spec = { podName: 'later', namespace: 'default', subnet: 'ovn-default', nodeName: '', podType: '' };
    const address = {
      v4IpAddress: '10.16.0.60',
      v6IpAddress: '',
      ipAddress: '10.16.0.60',
      macAddress: '0a:00:00:00:00:60',
    };
    const rest = { attachIps: [], attachMacs: [], attachSubnets: [], containerID: '' };
    const metadata = { name: 'later.default', labels };
    await bed.kube.create(ips, {
      apiVersion: 'kubeovn.io/v1',
      kind: 'IP',
      metadata,
      spec: { ...rest, ...spec, ...address },
    });
    await bed.quiet();
    for (const [name, annotations] of refused) await bed.createPod(name, { annotations });
  });

  test('are a request, which is refused with a reason', async () => {
    for (const [name, , code] of refused) {
      if (code === '') continue;
      const reason = await eventually(
        `why ${name} has no address`,
        async () => (await podAddressCondition(name))?.reason,
      );
      assert.equal(reason, code, `${name}: ${JSON.stringify(await podAddressCondition(name))}`);
      assert.equal(bed.row('Logical_Switch_Port', `${name}.default`), undefined, name);
    }
    assert.match((await podAddressCondition('of-a-pod'))?.message ?? '', /10\.16\.0\.50 .* used by owner\.default/);
    assert.notEqual(await addressOf('of-nothing'), '');
  });

  test('are refused with the same reasons after a restart', async () => {
    const conditions = await Promise.all(refused.map(async ([name]) => [name, await podAddressCondition(name)]));
    await restart();
    assert.deepEqual(
      await Promise.all(refused.map(async ([name]) => [name, await podAddressCondition(name)])),
      conditions,
    );
    assert.equal(await addressOf('owner'), '10.16.0.50');
    for (const [name, , code] of refused)
      assert.equal(bed.row('Logical_Switch_Port', `${name}.default`) === undefined, code !== '');
  });

  test('are refused too if they were written while no controller ran', async () => {
    await bed.kill();
    await bed.createPod('thief', { annotations: forged('10.16.0.40') });
    await bed.createPod('thief-of-pod', { annotations: forged('10.16.0.50') });
    await bed.start();
    for (const name of ['thief', 'thief-of-pod'])
      await eventually(name, async () => (await podAddressCondition(name))?.reason === 'AddressConflict');
    for (const [name] of refused) await bed.deletePod(name);
    for (const name of ['thief', 'thief-of-pod']) await bed.deletePod(name);
  });

  test('are reverted on a pod that has its address, also after a restart', async () => {
    const own = await addressOf('owner');
    const edit = (): Promise<unknown> =>
      bed.kube.patch(pods, { namespace: 'default', name: 'owner' }, 'merge', {
        metadata: {
          annotations: { ...forged('10.16.0.80', { mac_address: 'junk' }), [ovn('virtualmachine')]: 'other' },
        },
      });
    const isBack = async (): Promise<boolean> => {
      const annotations = await bed.annotations(pods, 'owner', 'default');
      return annotations[ovn('ip_address')] === own && annotations[ovn('virtualmachine')] === undefined;
    };
    await edit();
    await eventually('what the controller wrote', isBack);
    await bed.kill();
    await edit();
    await bed.start();
    await eventually('what the controller wrote', isBack);
    assert.deepEqual(bed.row('Logical_Switch_Port', 'owner.default')?.['addresses'], ['0a:00:00:00:00:50 10.16.0.50']);
  });

  test('are refused too if the pod is created with a forged status', async () => {
    const condition = {
      type: 'isthmus.network/AddressAllocated',
      status: 'True',
      reason: 'Allocated',
      message: 'ovn/x',
    };
    await bed.kube.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'sealed', namespace: 'default', annotations: forged('10.16.0.50') },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'none' }] },
      status: { conditions: [condition] },
    });
    await eventually('a refusal', async () => (await podAddressCondition('sealed'))?.reason === 'AddressConflict');
    await bed.deletePod('sealed');
  });
});

describe('a recreated object', () => {
  test('gets the address that a pod requests instead of the former pod’s, if no controller ran meanwhile', async () => {
    await bed.createPod('again');
    const former = await addressOf('again');
    await bed.quiet();
    await bed.kill();
    await bed.deletePod('again');
    await bed.createPod('again', { annotations: { [ovn('ip_address')]: '10.16.0.90' } });
    await bed.start();
    assert.equal(await addressOf('again'), '10.16.0.90');
    assert.notEqual(former, '10.16.0.90');
    await restart();
  });

  test('keeps its address as a replica, unless it requests another', async () => {
    const labels = { app: 'db' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'none' }] } };
    const spec = { replicas: 2, serviceName: 'db', selector: { matchLabels: labels }, template };
    await bed.create(statefulSets, 'db', spec, 'default');
    const { uid } = (await bed.kube.get(statefulSets, { namespace: 'default', name: 'db' })).metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid };
    for (const name of ['db-0', 'db-1']) await bed.createPod(name, { owner });
    const kept = await addressOf('db-0');
    await addressOf('db-1');
    await bed.quiet();
    await bed.kill();
    for (const name of ['db-0', 'db-1']) await bed.deletePod(name);
    await bed.createPod('db-0', { owner });
    await bed.createPod('db-1', { owner, annotations: { [ovn('ip_address')]: '10.16.0.95' } });
    await bed.start();
    assert.equal(await addressOf('db-0'), kept);
    assert.equal(await addressOf('db-1'), '10.16.0.95');
    await restart();
    assert.equal(await addressOf('db-1'), '10.16.0.95');
  });

  test('gets no address of a pod as a Vip with a forged status', async () => {
    await bed.quiet();
    await bed.kill();
    await bed.kube.create(vips, {
      apiVersion: 'kubeovn.io/v1',
      kind: 'Vip',
      metadata: { name: 'sly' },
      spec: { subnet: 'ovn-default' },
      status: { v4ip: '10.16.0.50', mac: '0a:00:00:00:00:51' },
    });
    await bed.start();
    await bed.quiet();
    const { status } = await bed.kube.get(vips, { name: 'sly' });
    assert.notEqual((status as { v4ip?: string }).v4ip, '10.16.0.50');
    assert.deepEqual(bed.row('Logical_Switch_Port', 'owner.default')?.['addresses'], ['0a:00:00:00:00:50 10.16.0.50']);
  });
});
