import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planKey } from '../plan/plan.ts';
import { planPodAnnotations } from '../plan/pod/pod-annotations.ts';
import { acceptedNoteOf } from './subnet/former-gateways.ts';
import { parseNamespace, parseNode, parsePod } from '../watch/workloads.ts';
import { parseSubnet, parseVpc } from '../watch/networks.ts';
import { TestCluster } from '../testing-cluster.ts';
import { reportedPod } from '../testing-reports.ts';
import { meta } from '../testing-vpcs.ts';

type Metadata = Readonly<Record<string, unknown>>;

const subnet = (name: string, spec: object, more: Metadata = {}) => parseSubnet({ metadata: meta(name, more), spec });
const pod = (name: string, nodeName: string, more: Metadata = {}) =>
  parsePod({ metadata: meta(name, { namespace: 'ns', ...more }), spec: { nodeName } });

/** As the API server has it once `cluster` has written its addresses. */
function podWithAddress(cluster: TestCluster, name: string) {
  const { annotations, status } = reportedPod(cluster, `ns/${name}`);
  return parsePod({ metadata: meta(name, { namespace: 'ns', annotations }), spec: { nodeName: 'n1' }, status });
}

function basic(): TestCluster {
  const cluster = new TestCluster();
  cluster.change('vpcs', 'ovn-cluster', parseVpc({ metadata: meta('ovn-cluster') }));
  cluster.change('subnets', 'join', subnet('join', { cidrBlock: '100.64.0.0/16' }));
  cluster.change('subnets', 'ovn-default', subnet('ovn-default', { cidrBlock: '10.16.0.0/24' }));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  const status = { addresses: [{ type: 'InternalIP', address: '172.30.0.1' }] };
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1'), status }));
  return cluster;
}

const allocated = (cluster: TestCluster, name: string) => cluster.ports(`pod/ns/${name}`)[0]?.allocation;
const planned = (cluster: TestCluster, key: string): string =>
  JSON.stringify([planKey(cluster, key), planPodAnnotations(cluster, key.slice('pod/'.length))]);

describe('an edit that is refused', () => {
  test('leaves the former network in force, also for new pods and over a restart', () => {
    const spec = {
      cidrBlock: '10.30.0.0/24',
      gateway: '10.30.0.9',
      namespaces: ['ns'],
      excludeIps: ['10.30.0.1..10.30.0.4'],
    };
    const edits: readonly (readonly [string, object])[] = [
      ['AddressesInUse', { cidrBlock: '10.99.0.0/24', gateway: '' }],
      ['CIDROverlap', { cidrBlock: '10.16.0.0/16', gateway: '' }],
      ['CIDRInvalid', { cidrBlock: '10.30.0.0' }],
      ['CIDRTooSmall', { cidrBlock: '10.30.0.0/31', gateway: '' }],
      ['AddressesInUse', { gateway: '10.30.0.5' }],
      ['GatewayInvalid', { gateway: '10.31.0.1' }],
      ['ExcludeIpsInvalid', { excludeIps: ['10.30.0.0/24'] }],
      ['AddressesInUse', { cidrBlock: 'fd00:30::/64', gateway: '', excludeIps: [], protocol: 'IPv6' }],
      ['VlanNotFound', { vlan: 'v9' }],
    ];
    for (const [code, edit] of edits) {
      const cluster = basic();
      cluster.change('subnets', 'own', subnet('own', spec));
      cluster.change('pods', 'ns/a', pod('a', 'n1'));
      cluster.restore(new Map());
      cluster.settle();
      const before = planned(cluster, 'pod/ns/a');
      const note = acceptedNoteOf(cluster, 'own');
      const annotations = { 'isthmus.network/accepted': note };
      cluster.change('subnets', 'own', subnet('own', { ...spec, ...edit }, { annotations }));
      cluster.change('pods', 'ns/b', pod('b', 'n1'));
      cluster.settle();
      assert.equal(cluster.verdicts.get('own')?.problem?.code, code, JSON.stringify(edit));
      assert.equal(planned(cluster, 'pod/ns/a'), before);
      assert.equal(allocated(cluster, 'b')?.v4, '10.30.0.6', code);
      assert.equal(planPodAnnotations(cluster, 'ns/b')?.['ovn.kubernetes.io/gateway'], '10.30.0.9');
      assert.equal(acceptedNoteOf(cluster, 'own'), note);

      const next = basic();
      next.change('subnets', 'own', subnet('own', { ...spec, ...edit }, { annotations }));
      for (const name of ['a', 'b']) next.change('pods', `ns/${name}`, podWithAddress(cluster, name));
      next.restore(new Map());
      next.change('pods', 'ns/c', pod('c', 'n1'));
      next.settle();
      assert.deepEqual([allocated(next, 'b')?.v4, allocated(next, 'c')?.v4], ['10.30.0.6', '10.30.0.7'], code);
      assert.equal(acceptedNoteOf(next, 'own'), note);

      next.change('subnets', 'own', subnet('own', spec, { annotations }));
      next.settle();
      assert.equal(next.verdicts.get('own')?.problem, undefined);
    }
  });

  test('keeps a network without pods in force, and a recreated Subnet inherits nothing of it', () => {
    const cluster = basic();
    cluster.change('subnets', 'own', subnet('own', { cidrBlock: '10.30.0.0/24', namespaces: ['ns'] }));
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('subnets', 'own', subnet('own', { cidrBlock: '10.16.0.0/16', namespaces: ['ns'] }));
    cluster.change(
      'subnets',
      'thief',
      subnet('thief', { cidrBlock: '10.30.0.0/16' }, { creationTimestamp: '2020-01-01T00:00:00Z' }),
    );
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    cluster.settle();
    assert.equal(allocated(cluster, 'a')?.v4, '10.30.0.2');
    assert.equal(cluster.verdicts.get('thief')?.problem?.code, 'CIDROverlap');
    cluster.change('pods', 'ns/a', undefined);
    cluster.change('subnets', 'own', undefined);
    cluster.change(
      'subnets',
      'own',
      subnet('own', { cidrBlock: '10.16.0.0/16', namespaces: ['ns'] }, { uid: 'again' }),
    );
    cluster.settle();
    assert.equal(cluster.verdicts.get('own')?.net, undefined);
    assert.equal(cluster.verdicts.get('thief')?.problem, undefined);
  });

  test('a Subnet recreated over one with pods allocates no addresses, also after a restart', () => {
    const spec = { cidrBlock: '10.30.0.0/24', namespaces: ['ns'] };
    const refused = { ...spec, cidrBlock: '10.16.0.0/16' };
    const cluster = basic();
    cluster.change('subnets', 'own', subnet('own', spec));
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('subnets', 'own', undefined);
    cluster.change('subnets', 'own', subnet('own', refused, { uid: 'again' }));
    cluster.change('pods', 'ns/b', pod('b', 'n1'));
    cluster.settle();
    const annotations = { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'own') };

    const next = basic();
    next.change('subnets', 'own', subnet('own', refused, { uid: 'again', annotations }));
    next.change('pods', 'ns/a', podWithAddress(cluster, 'a'));
    next.change('pods', 'ns/b', pod('b', 'n1'));
    next.restore(new Map());
    next.settle();
    for (const one of [cluster, next]) {
      assert.deepEqual([allocated(one, 'a')?.v4, allocated(one, 'b')?.v4], ['10.30.0.2', undefined]);
      assert.match(one.addressProblem('pod/ns/b')?.message ?? '', /^subnet own gives no addresses/);
      assert.equal(acceptedNoteOf(one, 'own'), annotations['isthmus.network/accepted']);
      one.change('pods', 'ns/a', undefined);
      one.settle();
      assert.equal(one.verdicts.get('own')?.net, undefined, 'with the last pod goes what the former Subnet left');
    }
  });
});
