/** Address allocation on a real API server and a real northbound database: pools, replicas, reservations, Vips. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ipPools,
  ips,
  networkAttachmentDefinitions,
  objectPath,
  pods,
  statefulSets,
  vips,
} from '../../lib/kube/resources.ts';
import { ControllerBed } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await installAttachments();
  await bed.start();
});
after(() => bed.close());

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;
const merge = { contentType: 'application/merge-patch+json' };

async function gone(port: string): Promise<void> {
  await eventually(`${port} is gone`, async () => {
    const names = (await bed.kube.list(ips)).map(({ metadata }) => metadata.name);
    return bed.row('Logical_Switch_Port', port) === undefined && !names.includes(port);
  });
}

async function createSet(name: string, replicas: number, annotations: object = {}): Promise<string> {
  const labels = { app: name };
  const template = { metadata: { labels, annotations }, spec: { containers: [{ name: 'c', image: 'none' }] } };
  const spec = { replicas, serviceName: name, selector: { matchLabels: labels }, template };
  await bed.create(statefulSets, name, spec, 'default');
  return (await bed.kube.get(statefulSets, { namespace: 'default', name })).metadata.uid;
}

async function createReplica(set: string, uid: string, ordinal: number, annotations = {}): Promise<string> {
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: set, uid };
  await bed.createPod(`${set}-${ordinal}`, { owner, annotations });
  return bed.address(`${set}-${ordinal}`);
}

describe('IPPools', () => {
  test('reserve addresses for the pods that name them, and count them', async () => {
    await bed.create(ipPools, 'web-tier', {
      subnet: 'ovn-default',
      ips: ['10.16.9.1..10.16.9.2', '10.16.9.8/30'],
      enableAddressSet: true,
    });
    await eventually('the pool is ready', async () => (await bed.status(ipPools, 'web-tier'))['v4AvailableIPs'] === 6);
    await bed.createPod('plain');
    await bed.createPod('pooled', { annotations: { [ovn('ip_pool')]: 'web-tier' } });
    assert.equal(await bed.address('pooled'), '10.16.9.1');
    assert.equal(await bed.address('plain'), '10.16.0.2');
    await eventually('counts', async () => {
      const status = await bed.status(ipPools, 'web-tier');
      const { v4AvailableIPs, v4AvailableIPRange, v4UsingIPs, v4UsingIPRange } = status;
      assert.deepEqual(
        [v4AvailableIPs, v4AvailableIPRange, v4UsingIPs, v4UsingIPRange],
        [5, '10.16.9.2,10.16.9.8-10.16.9.11', 1, '10.16.9.1'],
      );
      return true;
    });
    const members = (): readonly string[] =>
      [...((bed.row('Address_Set', 'web.tier')?.['addresses'] ?? []) as readonly string[])].sort();
    assert.deepEqual(members(), ['10.16.9.1', '10.16.9.2', '10.16.9.8/30']);
    const patch = { spec: { ips: ['10.16.9.1..10.16.9.2', '10.16.9.8/30', '10.16.9.100'] } };
    await bed.kube.patch(ipPools, { name: 'web-tier' }, 'merge', patch);
    await eventually('one member more', () => members().includes('10.16.9.100'));
    await bed.deletePod('plain');
    await bed.deletePod('pooled');
  });

  test('that overlap an older pool are refused until that is deleted', async () => {
    // Pools created in the same second are ordered by name.
    await bed.create(ipPools, 'younger', { subnet: 'ovn-default', ips: ['10.16.9.100..10.16.9.101'] });
    const ready = async (): Promise<{ status: string; reason: string; message: string } | undefined> => {
      const { conditions = [] } = (await bed.status(ipPools, 'younger')) as { conditions?: { type: string }[] };
      return conditions.find(({ type }) => type === 'Ready') as never;
    };
    const condition = await eventually('the condition', async () => {
      const condition = await ready();
      return condition?.status === 'False' ? condition : undefined;
    });
    assert.equal(condition.reason, 'IPPoolOverlap');
    assert.match(condition.message, /10\.16\.9\.100.*web-tier/);
    await bed.event('ValidateIPPoolFailed', 'younger', /IPPoolOverlap/);
    await bed.createPod('early', { annotations: { [ovn('ip_pool')]: 'younger' } });
    await bed.event('AcquireAddressFailed', 'early', /IPPoolNotReady/);
    await bed.kube.delete(ipPools, { name: 'web-tier' });
    assert.equal(await bed.address('early'), '10.16.9.100');
    await eventually('its address set went', () => bed.row('Address_Set', 'web.tier') === undefined);
    await bed.deletePod('early');
    await bed.kube.delete(ipPools, { name: 'younger' });
  });

  test('serve the namespaces bound to them, whose pods wait while the pool is exhausted', async () => {
    await bed.createNamespace('bound');
    await bed.create(ipPools, 'small', { subnet: 'ovn-default', ips: ['10.16.30.7'], namespaces: ['bound'] });
    await bed.createPod('one', { namespace: 'bound' });
    assert.equal(await bed.address('one', 'bound'), '10.16.30.7');
    await bed.createPod('two', { namespace: 'bound' });
    await bed.event('AcquireAddressFailed', 'two', /NoAvailableAddress: IPPool small/);
    await bed.deletePod('one', 'bound');
    assert.equal(await bed.address('two', 'bound'), '10.16.30.7');
    await bed.deletePod('two', 'bound');
    await bed.kube.delete(ipPools, { name: 'small' });
  });
});

describe('replicas', () => {
  test('get one address each of a list', async () => {
    const annotations = { [ovn('ip_pool')]: '10.16.40.1,10.16.40.2' };
    for (const name of ['r1', 'r2', 'r3']) await bed.createPod(name, { annotations });
    assert.deepEqual([await bed.address('r1'), await bed.address('r2')].sort(), ['10.16.40.1', '10.16.40.2']);
    await bed.event('AcquireAddressFailed', 'r3', /NoAvailableAddress: none of the 2 requested addresses/);
    await bed.deletePod('r1');
    assert.equal(await bed.address('r3'), '10.16.40.1');
    for (const name of ['r2', 'r3']) await bed.deletePod(name);
  });

  test('of a StatefulSet keep address and MAC while they are wanted, also over a restart', async () => {
    const uid = await createSet('db', 2);
    const address = await createReplica('db', uid, 1);
    const mac = (await bed.annotations(pods, 'db-1', 'default'))[ovn('mac_address')];
    await bed.deletePod('db-1');
    await eventually('its port is gone', () => bed.row('Logical_Switch_Port', 'db-1.default') === undefined);
    assert.equal((await bed.kube.get(ips, { name: 'db-1.default' })).metadata.name, 'db-1.default');
    await bed.kill();
    await bed.createPod('greedy', { annotations: { [ovn('ip_address')]: address } });
    await bed.start();
    await bed.event('AcquireAddressFailed', 'greedy', /AddressConflict: .*db-1\.default/);
    assert.equal(await createReplica('db', uid, 1), address);
    assert.equal((await bed.annotations(pods, 'db-1', 'default'))[ovn('mac_address')], mac);
    await bed.deletePod('db-1');
    await bed.kube.patch(statefulSets, { namespace: 'default', name: 'db' }, 'merge', { spec: { replicas: 1 } });
    assert.equal(await bed.address('greedy'), address);
    await gone('db-1.default');
    await bed.deletePod('greedy');
  });

  test('get addresses of a list by ordinal, and release them when the StatefulSet is deleted', async () => {
    const annotations = { [ovn('ip_pool')]: '10.16.41.1,10.16.41.2' };
    const uid = await createSet('ordered', 3, annotations);
    assert.equal(await createReplica('ordered', uid, 1, annotations), '10.16.41.2');
    assert.equal(await createReplica('ordered', uid, 0, annotations), '10.16.41.1');
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'ordered', uid };
    await bed.createPod('ordered-2', { owner, annotations });
    await bed.event('AcquireAddressFailed', 'ordered-2', /2 addresses.*ordinal 2/);
    await bed.kube.delete(statefulSets, { namespace: 'default', name: 'ordered' });
    for (const ordinal of [0, 1, 2]) await bed.deletePod(`ordered-${ordinal}`);
    await gone('ordered-0.default');
    await gone('ordered-1.default');
  });
});

describe('reservations and Vips', () => {
  test('an IP object reserves an address for the pod with its name', async () => {
    await bed.kube.create(ips, {
      apiVersion: 'kubeovn.io/v1',
      kind: 'IP',
      metadata: { name: 'kept.default', labels: { [ovn('ip_reserved')]: 'true' } },
      spec: {
        subnet: 'ovn-default',
        ipAddress: '10.16.50.1',
        v4IpAddress: '10.16.50.1',
        podName: 'kept',
        namespace: 'default',
      },
    });
    await bed.createPod('thief', { annotations: { [ovn('ip_address')]: '10.16.50.1' } });
    await bed.event('AcquireAddressFailed', 'thief', /AddressConflict/);
    await bed.createPod('kept');
    assert.equal(await bed.address('kept'), '10.16.50.1');
    await bed.deletePod('kept');
    await bed.kube.delete(ips, { name: 'kept.default' });
    assert.equal(await bed.address('thief'), '10.16.50.1');
    await bed.deletePod('thief');
  });

  async function reserve(name: string, spec: object): Promise<void> {
    const metadata = { name: `${name}.default`, labels: { [ovn('ip_reserved')]: 'true' } };
    const whole = { podName: name, namespace: 'default', subnet: 'ovn-default', ...spec };
    await bed.kube.create(ips, { apiVersion: 'kubeovn.io/v1', kind: 'IP', metadata, spec: whole });
  }

  test('an IP object that cannot reserve its address has an event, and its pod waits until it can', async () => {
    await bed.createPod('owner', { annotations: { [ovn('ip_address')]: '10.16.51.1' } });
    await bed.address('owner');
    await reserve('heir', { v4IpAddress: '10.16.51.1' });
    await reserve('astray', { v4IpAddress: '10.99.0.1' });
    await reserve('empty', {});
    await bed.event('AcquireAddressFailed', 'heir.default', /AddressConflict: .*owner\.default/);
    await bed.event('AcquireAddressFailed', 'astray.default', /AddressOutOfRange/);
    await bed.event('AcquireAddressFailed', 'empty.default', /InvalidAddress: spec\.subnet/);
    for (const name of ['heir', 'astray', 'empty']) {
      await bed.createPod(name);
      await bed.event('AcquireAddressFailed', name, /the IP object .*cannot reserve an address/);
    }
    await bed.deletePod('owner');
    assert.equal(await bed.address('heir'), '10.16.51.1');
    const patch = { spec: { v4IpAddress: '10.16.51.2' } };
    await bed.kube.request('PATCH', objectPath(ips, { name: 'astray.default' }), patch, merge);
    assert.equal(await bed.address('astray'), '10.16.51.2');
    await bed.kube.delete(ips, { name: 'empty.default' });
    await bed.address('empty');
    for (const name of ['heir', 'astray', 'empty']) await bed.deletePod(name);
    for (const name of ['heir', 'astray']) await bed.kube.delete(ips, { name: `${name}.default` });
  });

  test('an edited IP object moves its reservation, and a pod that requests another address waits', async () => {
    await reserve('moved', { v4IpAddress: '10.16.52.1' });
    await bed.createPod('first', { annotations: { [ovn('ip_address')]: '10.16.52.1' } });
    await bed.event('AcquireAddressFailed', 'first', /AddressConflict: .*moved\.default/);
    const patch = { spec: { v4IpAddress: '10.16.52.2' } };
    await bed.kube.request('PATCH', objectPath(ips, { name: 'moved.default' }), patch, merge);
    assert.equal(await bed.address('first'), '10.16.52.1');
    await bed.createPod('moved', { annotations: { [ovn('ip_address')]: '10.16.52.3' } });
    await bed.event('AcquireAddressFailed', 'moved', /AddressConflict: the IP object moved\.default/);
    await bed.deletePod('moved');
    await bed.createPod('moved');
    assert.equal(await bed.address('moved'), '10.16.52.2');
    for (const name of ['first', 'moved']) await bed.deletePod(name);
    await bed.kube.delete(ips, { name: 'moved.default' });
  });

  test('a deleted IP object of a running pod is created again', async () => {
    await bed.createPod('lasting');
    const address = await bed.address('lasting');
    const { uid } = (await eventually('its IP object', () => bed.kube.get(ips, { name: 'lasting.default' }))).metadata;
    await bed.kube.delete(ips, { name: 'lasting.default' });
    await eventually('a new IP object', async () => {
      const found = (await bed.kube.list(ips)).find(({ metadata }) => metadata.name === 'lasting.default');
      const spec = found?.['spec'] as { ipAddress?: string } | undefined;
      return found !== undefined && found.metadata.uid !== uid && spec?.ipAddress === address;
    });
    await bed.deletePod('lasting');
    await gone('lasting.default');
  });

  test('the address of a Vip is used by one pod at a time', async () => {
    await bed.createPod('front', { annotations: { [ovn('vip')]: 'shared' } });
    await bed.event('AcquireAddressFailed', 'front', /VipNotFound/);
    await bed.create(vips, 'shared', { subnet: 'ovn-default', v4ip: '10.16.60.1' });
    assert.equal(await bed.address('front'), '10.16.60.1');
    const status = await eventually('the status of the Vip', async () => {
      const condition = await bed.status(vips, 'shared');
      return condition['v4ip'] === '10.16.60.1' ? condition : undefined;
    });
    assert.equal(status['mac'], (await bed.annotations(pods, 'front', 'default'))[ovn('mac_address')]);
    await bed.createPod('other', { annotations: { [ovn('vip')]: 'shared' } });
    await bed.event('AcquireAddressFailed', 'other', /AddressConflict: .*front\.default/);
    await bed.kube.delete(vips, { name: 'shared' });
    await bed.kill();
    await bed.start();
    await bed.createPod('third', { annotations: { [ovn('ip_address')]: '10.16.60.1' } });
    await bed.event('AcquireAddressFailed', 'third', /AddressConflict/);
    await bed.deletePod('front');
    assert.equal(await bed.address('third'), '10.16.60.1');
    for (const name of ['other', 'third']) await bed.deletePod(name);
  });
});

describe('several interfaces', () => {
  test('each attachment has its own port, addresses and annotations', async () => {
    await bed.createSubnet('fast', { cidrBlock: '10.90.0.0/24', provider: 'fast.default.ovn' });
    await bed.untilCondition('fast', 'Ready', 'True');
    const key = 'k8s.v1.cni.cncf.io/networks';
    await bed.createPod('many', { annotations: { [key]: 'fast' } });
    await eventually(
      'an address of the attachment',
      async () => (await bed.annotations(pods, 'many', 'default'))['fast.default.ovn.kubernetes.io/ip_address'],
    );
    await bed.createPod('more', {
      annotations: { [key]: 'fast@net1,fast@net2', 'fast.default.kubernetes.io/ip_address.net2': '10.90.0.77' },
    });
    await bed.address('more');
    const annotations = await bed.annotations(pods, 'more', 'default');
    assert.equal(annotations['fast.default.ovn.net1.kubernetes.io/logical_switch'], 'fast');
    assert.equal(annotations['fast.default.ovn.net2.kubernetes.io/ip_address'], '10.90.0.77');
    for (const name of ['many.default.fast.default.ovn', 'more.default.fast.default.ovn.net2']) {
      assert.ok(bed.row('Logical_Switch_Port', name), name);
      await eventually(`IP object ${name}`, () => bed.kube.get(ips, { name }));
    }
    await bed.deletePod('more');
    await gone('more.default.fast.default.ovn.net2');
    await gone('more.default');
    await bed.deletePod('many');
  });
});

async function installAttachments(): Promise<void> {
  const { group, plural, kind } = networkAttachmentDefinitions;
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { config: { type: 'string' } } } },
  };
  const spec = {
    group,
    scope: 'Namespaced',
    names: { plural, kind, singular: 'network-attachment-definition' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  };
  const metadata = { name: `${plural}.${group}` };
  const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata, spec };
  await bed.kube.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  const config = JSON.stringify({ cniVersion: '0.3.1', type: 'kube-ovn', provider: 'fast.default.ovn' });
  await eventually('the kind is served', () =>
    bed.create(networkAttachmentDefinitions, 'fast', { config }, 'default').then(() => true),
  );
}

test('pods, IP objects and rows agree, and a restart writes nothing', async () => {
  await bed.createPod('last');
  await bed.address('last');
  await bed.quiet();
  await bed.assertConsistent();
  const [versions, changes] = [await bed.versions(), bed.changes];
  await bed.kill();
  await bed.start();
  await bed.quiet();
  assert.deepEqual(await bed.versions(), versions);
  assert.equal(bed.changes, changes);
  await bed.kube.request('PATCH', '/api/v1/namespaces/default/pods/last', { metadata: { labels: { a: 'b' } } }, merge);
});
