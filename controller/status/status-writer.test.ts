import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Kinds } from '../model/objects.ts';
import type { Capabilities } from '../model/view.ts';
import { TestController } from '../testing-api.ts';
import { kinds } from '../watch/kinds.ts';

const cases = join(import.meta.dirname, '../plan/testdata');

function kindOf({ kind }: RawObject): keyof Kinds | undefined {
  return (Object.keys(kinds) as (keyof Kinds)[]).find((one) => kinds[one].resource.kind === kind);
}

/** As the API server answers for kinds of CRDs. */
function inOrderOfKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map(inOrderOfKeys) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, inOrderOfKeys(one)])) as T;
}

function start(objects: Iterable<RawObject>, capabilities?: Capabilities): TestController {
  const controller = new TestController({ capabilities });
  for (const raw of objects) {
    const kind = kindOf(raw);
    if (kind !== undefined) controller.put(kind, raw as never);
  }
  controller.cluster.restore(new Map());
  return controller;
}

const vpc = { metadata: { name: 'ovn-cluster' }, spec: {} };
const joinNetwork = { metadata: { name: 'join' }, spec: { cidrBlock: '100.64.0.0/16' } };
const podNetwork = { metadata: { name: 'ovn-default' }, spec: { cidrBlock: '10.16.0.0/28', default: true } };
const node = { metadata: { name: 'n1' }, status: { addresses: [{ type: 'InternalIP', address: '172.30.0.1' }] } };

async function basic(options: ConstructorParameters<typeof TestController>[0] = {}): Promise<TestController> {
  const controller = new TestController(options);
  controller.put('vpcs', vpc);
  controller.put('subnets', joinNetwork);
  controller.put('subnets', podNetwork);
  controller.put('namespaces', { metadata: { name: 'default' } });
  controller.put('nodes', node);
  controller.cluster.restore(new Map());
  await controller.settle();
  controller.writes.splice(0);
  controller.events.splice(0);
  return controller;
}

const pod = (name: string, annotations = {}) => ({ metadata: { name, annotations }, spec: { nodeName: 'n1' } });

describe('reports are written completely', () => {
  for (const path of globSync('*.in.yaml', { cwd: cases }))
    test(`${basename(path, '.in.yaml')}: writes end, and another start writes nothing`, async () => {
      const documents = parseAllDocuments(readFileSync(join(cases, path), 'utf8')).map(
        (document) => document.toJS() as RawObject,
      );
      const able = documents.find(({ kind }) => kind === 'Capabilities')?.['spec'] as Capabilities | undefined;
      const first = start(documents, able);
      await first.settle();
      assert.ok(first.writes.length > 0);
      const second = start([...first.objects.values()].map(inOrderOfKeys), able);
      await second.settle();
      assert.deepEqual(second.writes, []);
      for (const controller of [first, second]) controller.close();
    });
});

describe('writes', () => {
  test('a pod gets annotations and condition in one write, and an IP object', async () => {
    const controller = await basic();
    controller.put('pods', pod('a'));
    await controller.settle();
    assert.deepEqual(controller.writes.toSorted(), [
      'create IP/a.default',
      'patch Pod/default/a status',
      'patch Subnet/ovn-default status',
    ]);
    controller.close();
  });

  test('an IP object is deleted only once the database has forgotten the port', async () => {
    const controller = await basic();
    controller.put('pods', pod('a'));
    await controller.settle();
    controller.leftPorts.add('a.default');
    controller.remove('pods', 'default/a');
    await controller.settle();
    assert.ok(controller.objects.has('IP/a.default'));
    controller.leftPorts.clear();
    controller.publish('ip/a.default');
    await controller.idle();
    assert.ok(!controller.objects.has('IP/a.default'));
    controller.close();
  });

  test('a list is replaced only in the version that was observed, and again after a conflict', async () => {
    const controller = await basic();
    controller.put('subnets', { metadata: { name: 'own' }, spec: { cidrBlock: '10.30.0.0/24' } });
    for (const key of controller.cluster.settle()) controller.publish(key);
    // A user adds a finalizer before the write of ours is sent.
    controller.put('subnets', {
      metadata: { name: 'own', finalizers: ['theirs'] },
      spec: { cidrBlock: '10.30.0.0/24' },
    });
    await controller.idle();
    await controller.settle();
    assert.deepEqual(controller.objects.get('Subnet/own')?.metadata.finalizers, [
      'theirs',
      'isthmus.network/controller',
    ]);
    controller.close();
  });

  test('finalizers are removed from a subnet that is deleted once its last address is released', async () => {
    const controller = await basic();
    controller.put('pods', pod('a'));
    await controller.settle();
    const own = controller.objects.get('Subnet/ovn-default');
    assert.deepEqual(own?.metadata.finalizers, ['isthmus.network/controller']);
    controller.put('subnets', {
      ...own,
      metadata: { ...own.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    await controller.settle();
    assert.ok(controller.objects.has('Subnet/ovn-default'));
    controller.remove('pods', 'default/a');
    await controller.settle();
    assert.ok(!controller.objects.has('Subnet/ovn-default'));
    controller.close();
  });

  test('counts alone are limited in rate, conditions are not', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const controller = await basic({ nowMs: Date.now });
    for (const name of ['a', 'b', 'c']) {
      controller.put('pods', pod(name));
      await controller.settle();
    }
    const ofSubnet = (): number => controller.writes.filter((one) => one === 'patch Subnet/ovn-default status').length;
    assert.equal(ofSubnet(), 0, 'its conditions were written just before');
    context.mock.timers.tick(600);
    await controller.idle();
    assert.equal(ofSubnet(), 1);
    controller.put('subnets', { ...controller.objects.get('Subnet/ovn-default'), spec: { cidrBlock: 'x' } } as never);
    await controller.settle();
    assert.ok(ofSubnet() > 1, 'a refused spec does not wait');
    controller.close();
  });
});

describe('events', () => {
  test('are recorded once for each problem, also over a restart that finds it noted', async () => {
    const controller = await basic();
    controller.put('pods', pod('a', { 'ovn.kubernetes.io/ip_address': '10.99.0.1' }));
    await controller.settle();
    const expected = /^Warning Pod\/default\/a AcquireAddressFailed: AddressOutOfRange: /;
    assert.deepEqual(
      controller.events.map((one) => expected.test(one)),
      [true],
      controller.events.join('\n'),
    );
    controller.publish('pod/default/a');
    assert.equal(controller.events.length, 1);
    const next = start(controller.objects.values());
    await next.settle();
    assert.deepEqual(next.events, []);
    for (const one of [controller, next]) one.close();
  });

  test('of a condition follow its write', async () => {
    const controller = await basic();
    controller.put('subnets', { metadata: { name: 'bad' }, spec: { cidrBlock: '10.16.0.0/24' } });
    await controller.settle();
    const [event = '', ...others] = controller.events;
    assert.match(event, /^Warning Subnet\/bad ValidateLogicalSwitchFailed: CIDROverlap: /);
    assert.deepEqual(others, []);
    controller.close();
  });
});
