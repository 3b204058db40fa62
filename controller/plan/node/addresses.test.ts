import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { viewOf } from '../../../lib/slices/testing.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { acceptedNoteOf } from '../../settle/subnet/former-gateways.ts';
import { basic, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { remoteClusterView, parseTransitSwitch } from '../../watch/networks.ts';
import { parseNamespace, parseNode, parsePod } from '../../watch/workloads.ts';
import { planSubnetConditions } from '../conditions.ts';
import { planKey } from '../plan.ts';
import { nodeProblems } from './problems.ts';

function node(cluster: TestCluster, name: string, addresses: readonly string[], day = 2, type = 'InternalIP'): void {
  const status = { addresses: addresses.map((address) => ({ type, address })) };
  cluster.change('nodes', name, parseNode({ metadata: meta(name, created(day)), status }));
}
function pod(cluster: TestCluster, name: string): void {
  const metadata = meta(name, { namespace: 'ns', ...created(8) });
  cluster.change('pods', `ns/${name}`, parsePod({ metadata, spec: { nodeName: 'n1' } }));
}
const policies = (cluster: TestCluster, name: string): readonly string[] =>
  planKey(cluster, `node/${name}`)
    .rows.filter(({ table }) => table === 'Logical_Router_Policy')
    .map(({ key }) => key.slice(`node/${name}/`.length));
const problemOf = (cluster: TestCluster, name: string): string =>
  nodeProblems(cluster, name)
    .map(({ code, message }) => `${code}: ${message}`)
    .join('\n');
const ready = (cluster: TestCluster, name: string): string | undefined =>
  planSubnetConditions(cluster, name, undefined).find(({ type }) => type === 'Ready')?.status;

function withPod(): TestCluster {
  const cluster = basic();
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  node(cluster, 'n1', ['172.30.0.1', 'fd00:30::1']);
  pod(cluster, 'a');
  cluster.settle();
  return cluster;
}

describe('InternalIPs of a node', () => {
  test('in a subnet in force disable only the route to the node by them', () => {
    const claims: readonly (readonly [string, RegExp])[] = [
      ['10.16.0.2', /of subnet ovn-default/],
      ['10.16.0.1', /of subnet ovn-default/],
      ['10.16.99.9', /of subnet ovn-default/],
      ['100.64.0.1', /of subnet join/],
      ['100.64.0.2', /of subnet join/],
      ['169.254.100.7', /of transit switch ts/],
    ];
    for (const [claim, owner] of claims) {
      const cluster = withPod();
      cluster.change(
        'transitSwitches',
        'ts',
        parseTransitSwitch({ metadata: meta('ts'), status: { cidr: '169.254.100.0/24' } }),
      );
      const before = planKey(cluster, 'pod/ns/a');
      node(cluster, 'bad', [claim, '172.30.0.9', '10.20.0.9']);
      pod(cluster, 'b');
      const dirty = cluster.settle();
      assert.ok(dirty.has('node/bad'));
      assert.deepEqual([ready(cluster, 'ovn-default'), ready(cluster, 'join')], ['True', 'True'], claim);
      assert.deepEqual(planKey(cluster, 'pod/ns/a'), before);
      assert.equal(cluster.ports('pod/ns/b')[0]?.allocation.v4, '10.16.0.3');
      assert.match(problemOf(cluster, 'bad'), owner);
      assert.deepEqual(policies(cluster, 'bad'), ['172.30.0.9', '10.20.0.9']);

      const next = new TestCluster();
      vpc(next, 'ovn-cluster', {}, created(1));
      for (const [name, cidrBlock] of [
        ['join', '100.64.0.0/16'],
        ['ovn-default', '10.16.0.0/16'],
      ] as const)
        subnet(
          next,
          name,
          { cidrBlock },
          { ...created(5), annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, name) } },
        );
      next.change(
        'transitSwitches',
        'ts',
        parseTransitSwitch({ metadata: meta('ts'), status: { cidr: '169.254.100.0/24' } }),
      );
      node(next, 'bad', [claim, '172.30.0.9', '10.20.0.9'], 1);
      next.restore(new Map());
      next.settle();
      assert.deepEqual([ready(next, 'ovn-default'), ready(next, 'join')], ['True', 'True'], claim);
      assert.equal(problemOf(next, 'bad'), problemOf(cluster, 'bad'));
      assert.deepEqual(policies(next, 'bad'), policies(cluster, 'bad'));
    }
  });

  test("of another cluster that is reached stay that cluster's", () => {
    const cluster = withPod();
    const status = { cidr: '169.254.100.0/24', vpc: 'ovn-cluster' };
    cluster.change(
      'transitSwitches',
      'ts',
      parseTransitSwitch({ metadata: meta('ts'), spec: { vpc: 'ovn-cluster' }, status }),
    );
    node(cluster, 'bad', ['10.17.0.5', '172.30.0.9']);
    cluster.settle();
    assert.deepEqual(policies(cluster, 'bad'), ['10.17.0.5', '172.30.0.9']);
    const route = { prefix: '10.17.0.0/16', transitSwitch: 'ts', state: 'Active' };
    cluster.change('remoteClusters', 'west', viewOf(remoteClusterView, { metadata: meta('west') }, [route]));
    assert.ok(cluster.settle().has('node/bad'));
    assert.deepEqual(policies(cluster, 'bad'), ['172.30.0.9']);
    assert.match(
      problemOf(cluster, 'bad'),
      /10\.17\.0\.5 of node bad is an address of cluster west \(10\.17\.0\.0\/16\)/,
    );
    cluster.change('remoteClusters', 'west', undefined);
    assert.ok(cluster.settle().has('node/bad'));
    assert.deepEqual(policies(cluster, 'bad'), ['10.17.0.5', '172.30.0.9']);
  });

  test('that are older keep a Subnet from coming into force, and from growing over them', () => {
    const cluster = withPod();
    subnet(cluster, 'late', { cidrBlock: '172.30.0.0/24' }, created(3));
    subnet(cluster, 'grown', { cidrBlock: '172.31.0.0/24' }, created(4));
    cluster.settle();
    assert.match(cluster.verdicts.get('late')?.problem?.message ?? '', /the address of node n1/);
    subnet(cluster, 'grown', { cidrBlock: '172.30.0.0/15' }, created(4));
    cluster.settle();
    assert.match(cluster.verdicts.get('grown')?.problem?.message ?? '', /the address of node n1/);
    assert.equal(cluster.verdicts.get('grown')?.isOpen, true);
    assert.deepEqual(policies(cluster, 'n1'), ['172.30.0.1']);
    node(cluster, 'n1', ['172.40.0.1']);
    cluster.settle();
    assert.deepEqual([ready(cluster, 'late'), ready(cluster, 'grown')], ['True', 'False'], 'the older of the two');
  });

  test('of the API server, of another node, or many', () => {
    const cluster = new TestCluster({
      aclTier: false,
      ipv6Selection: false,
      loadBalancers: true,
      apiServer: ['10.96.0.1'],
    });
    vpc(cluster, 'ovn-cluster', {}, created(1));
    subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
    node(cluster, 'young', ['172.30.0.2', '172.30.0.3'], 5);
    cluster.restore(new Map());
    cluster.settle();
    // It was there before, and takes to the addresses of others later.
    node(cluster, 'bad', ['172.30.0.9', '172.30.0.2', '10.96.0.1', 'fd00:30::9'], 1);
    cluster.settle();
    node(cluster, 'bad', ['172.30.0.2', '10.96.0.1'], 1);
    cluster.settle();
    assert.deepEqual(policies(cluster, 'young'), ['172.30.0.2', '172.30.0.3']);
    assert.deepEqual(policies(cluster, 'bad'), []);
    assert.match(
      problemOf(cluster, 'bad'),
      /172\.30\.0\.2 of node bad is also the address of node young, which had it first/,
    );
    assert.match(problemOf(cluster, 'bad'), /10\.96\.0\.1 .* of Service kubernetes/);
    assert.equal(problemOf(cluster, 'young'), '');

    const next = new TestCluster();
    vpc(next, 'ovn-cluster', {}, created(1));
    subnet(next, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
    node(next, 'young', ['172.30.0.2', '172.30.0.3'], 5);
    node(next, 'bad', ['172.30.0.2'], 1);
    next.restore(new Map(), new Map([['172.30.0.2', 'young']]));
    next.settle();
    assert.deepEqual([policies(next, 'young'), policies(next, 'bad')], [['172.30.0.2', '172.30.0.3'], []]);
    node(next, 'young', ['172.30.0.3'], 5);
    assert.ok(next.settle().has('node/bad'));
    assert.deepEqual(policies(next, 'bad'), ['172.30.0.2'], 'who has it no more gives it up');

    const many = Array.from({ length: 300 }, (_, index) => `172.29.${Math.floor(index / 250)}.${1 + (index % 250)}`);
    node(next, 'bad', [...many, '172.29.0.1'], 1);
    next.settle();
    assert.equal(policies(next, 'bad').length, 16);
    assert.match(problemOf(next, 'bad'), /NodeAddressesTooMany: node bad has 300 InternalIPs/);
  });

  test('alone count: other types of addresses are ignored', () => {
    const cluster = withPod();
    for (const type of ['ExternalIP', 'Hostname', 'InternalDNS']) {
      node(cluster, 'bad', ['10.16.0.2', '172.30.0.1'], 1, type);
      cluster.settle();
      assert.deepEqual([policies(cluster, 'bad'), problemOf(cluster, 'bad')], [[], '']);
    }
  });
});
