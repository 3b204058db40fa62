import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planSubnetConditions } from '../../plan/conditions.ts';
import { acceptedNoteOf } from '../subnet/former-gateways.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { basic, created, meta, subnet, falseConditions, vpc } from '../../testing-vpcs.ts';
import { parseIpPool } from '../../watch/addresses.ts';
import { parseNamespace, parsePod } from '../../watch/workloads.ts';
import { planNamespaceAnnotations } from '../../plan/namespace/namespace.ts';

type Metadata = Readonly<Record<string, unknown>>;

const leaving = { deletionTimestamp: '2026-01-09T00:00:00Z' };
function namespace(cluster: TestCluster, name: string, more: Metadata = {}): void {
  cluster.change('namespaces', name, parseNamespace({ metadata: meta(name, more) }));
}
function pod(cluster: TestCluster, name: string): void {
  const metadata = meta(name, { namespace: 'shop', ...created(8) });
  cluster.change('pods', `shop/${name}`, parsePod({ metadata, spec: { nodeName: 'n1' } }));
  cluster.settle();
}
const place = (cluster: TestCluster, name: string): string => {
  const problem = cluster.addressProblem(`pod/shop/${name}`);
  if (problem !== undefined) return `${problem.code}: ${problem.message}`;
  return cluster.ports(`pod/shop/${name}`)[0]?.allocation.subnet ?? '';
};
const validated = (cluster: TestCluster, name: string): string => {
  const is = planSubnetConditions(cluster, name, undefined).find(({ type }) => type === 'Validated');
  return is?.status === 'True' ? 'True' : `${is?.reason}: ${is?.message}`;
};

describe('pods of a namespace wait, with the reason', () => {
  test('while its subnet is being deleted; another subnet takes them', () => {
    const cluster = basic();
    namespace(cluster, 'shop');
    const spec = { cidrBlock: '10.30.0.0/24', namespaces: ['shop'] };
    subnet(cluster, 'shop', spec, created(2));
    pod(cluster, 'a');
    subnet(cluster, 'shop', spec, { ...created(2), ...leaving });
    pod(cluster, 'b');
    assert.equal(place(cluster, 'b'), 'SubnetNotReady: subnet shop gives no addresses: it is being deleted');
    subnet(cluster, 'more', { cidrBlock: '10.31.0.0/24', namespaces: ['shop'] }, created(4));
    cluster.settle();
    assert.deepEqual([place(cluster, 'a'), place(cluster, 'b')], ['shop', 'more']);
    subnet(cluster, 'shop', undefined);
    subnet(cluster, 'shop', { ...spec, cidrBlock: '10.32.0.0/24' }, { ...created(5), uid: 'again' });
    pod(cluster, 'c');
    assert.equal(place(cluster, 'c'), 'more', 'what is in force goes on being used');
  });

  test('while its subnet was never valid, or its pool is being deleted', () => {
    const cluster = basic();
    namespace(cluster, 'shop');
    subnet(cluster, 'shop', { cidrBlock: '10.16.0.0/24', namespaces: ['shop'] }, created(2));
    pod(cluster, 'a');
    assert.match(place(cluster, 'a'), /^SubnetNotReady: subnet shop gives no addresses: .* overlaps .* ovn-default/);
    subnet(cluster, 'shop', { cidrBlock: '10.30.0.0/24', namespaces: ['shop'] }, created(2));
    const spec = { subnet: 'shop', ips: ['10.30.0.10'], namespaces: ['shop'] };
    cluster.change('ipPools', 'few', parseIpPool({ metadata: meta('few', leaving), spec }));
    pod(cluster, 'b');
    assert.match(place(cluster, 'b'), /^IPPoolNotReady: IPPool few gives no addresses: it is being deleted/);
    cluster.change('ipPools', 'few', undefined);
    cluster.settle();
    assert.equal(place(cluster, 'b'), 'shop');
  });

  test('while the subnet of its Vpc is being deleted, and the Vpc, too', () => {
    const cluster = basic();
    namespace(cluster, 'shop');
    vpc(cluster, 'blue', { namespaces: ['shop'] }, created(2));
    subnet(cluster, 'sea', { cidrBlock: '10.30.0.0/24', vpc: 'blue' }, created(2));
    pod(cluster, 'a');
    assert.equal(place(cluster, 'a'), 'sea');
    subnet(cluster, 'sea', { cidrBlock: '10.30.0.0/24', vpc: 'blue' }, { ...created(2), ...leaving });
    vpc(cluster, 'blue', { namespaces: ['shop'] }, { ...created(2), ...leaving });
    pod(cluster, 'b');
    assert.match(place(cluster, 'b'), /^NoSubnet: namespace shop belongs to a Vpc that has no subnet/);
  });

  test('an annotation of the namespace that names no existing subnet has no effect', () => {
    const cluster = basic();
    namespace(cluster, 'shop', { annotations: { 'ovn.kubernetes.io/logical_switch': 'nosuch' } });
    pod(cluster, 'a');
    assert.equal(place(cluster, 'a'), 'ovn-default');
  });
});

describe('a namespace that subnets of two VPCs ask for', () => {
  const red = { cidrBlock: '10.31.0.0/24', vpc: 'red', namespaces: ['shop'] };
  const build = (cluster: TestCluster, young: object, annotations: Metadata): void => {
    namespace(cluster, 'shop', { annotations });
    for (const name of ['blue', 'red']) vpc(cluster, name, {}, created(1));
    subnet(
      cluster,
      'blue-a',
      { cidrBlock: '10.30.0.0/29', vpc: 'blue', namespaces: ['shop'] },
      { ...created(3), ...young },
    );
    subnet(cluster, 'red-a', { ...red, namespaces: [] }, created(2));
  };

  test('stays in its VPC, also when that is full and over a restart; the other VPC has a problem', () => {
    const cluster = basic();
    build(cluster, {}, {});
    cluster.settle();
    // An older Subnet that is edited later.
    subnet(cluster, 'red-a', red, created(2));
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) pod(cluster, name);
    assert.equal(place(cluster, 'a'), 'blue-a');
    assert.match(place(cluster, 'f'), /^NoAvailableAddress: subnet blue-a/);
    assert.equal(validated(cluster, 'blue-a'), 'True');
    assert.match(
      validated(cluster, 'red-a'),
      /^NamespaceConflict: namespace shop is in Vpc blue, .* of blue-a, .* this Subnet is in Vpc red/,
    );
    vpc(cluster, 'red', { namespaces: ['shop'] }, created(1));
    cluster.settle();
    assert.match(
      falseConditions(cluster, 'red')['Validated'] ?? '',
      /shop is in Vpc blue by blue-a, which had it before/,
    );

    const shop = cluster.namespaces.get('shop');
    assert.ok(shop);
    const next = new TestCluster();
    vpc(next, 'ovn-cluster', {}, created(1));
    const note = { annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'blue-a') } };
    build(next, note, planNamespaceAnnotations(cluster, shop));
    subnet(next, 'red-a', red, {
      ...created(2),
      annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'red-a') },
    });
    next.restore(new Map());
    next.settle();
    assert.deepEqual(next.binding('shop'), { vpc: 'blue', subnets: ['blue-a'], others: ['red-a'] });

    subnet(next, 'blue-a', undefined);
    next.settle();
    assert.deepEqual(next.binding('shop'), { vpc: 'red', subnets: ['red-a'], others: [] });
    assert.equal(validated(next, 'red-a'), 'True');
  });

  test('gets the other if one was never valid', () => {
    const cluster = basic();
    build(cluster, {}, {});
    subnet(cluster, 'red-a', { ...red, cidrBlock: '10.31.0.0' }, created(2));
    pod(cluster, 'a');
    assert.equal(place(cluster, 'a'), 'blue-a');
  });
});
