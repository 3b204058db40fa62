import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planIpPoolConditions } from '../plan/address/ip-pool.ts';
import { planSubnetConditions } from '../plan/conditions.ts';
import { planPoolConditions } from '../plan/load-balancer-pool/load-balancer-pool.ts';
import type { WantedCondition } from '../plan/report.ts';
import { nameConflictOf } from './security-group/served-groups.ts';
import { planVlanConditions } from '../plan/underlay/vlan.ts';
import { basic, created, meta, peers, subnet, falseConditions, vpc } from '../testing-vpcs.ts';
import { network } from '../testing-underlay.ts';
import { planVpcStatus } from '../plan/vpc/status.ts';
import { parseIpPool, parseLoadBalancerPool } from '../watch/addresses.ts';
import { parseSecurityGroup, parseSubnet, parseVpc } from '../watch/networks.ts';
import { parseVlan } from '../watch/underlay.ts';
import { parseNamespace } from '../watch/workloads.ts';
import { TestCluster } from '../testing-cluster.ts';

type Write = (cluster: TestCluster, name: string, spec: object, more: object) => void;
interface Kind {
  readonly write: Write;
  readonly conditions: (cluster: TestCluster, name: string) => readonly WantedCondition[];
  readonly mine: object;
  readonly other: object;
  readonly code: string;
}

const kinds: Readonly<Record<string, Kind>> = {
  'the id of a Vlan': {
    write: (cluster, name, spec, { status, ...more }: { status?: object }) =>
      cluster.change('vlans', name, parseVlan({ metadata: meta(name, more), spec, status })),
    conditions: (cluster, name) => {
      const vlan = cluster.vlans.get(name);
      return vlan === undefined ? [] : planVlanConditions(cluster, vlan);
    },
    mine: { id: 10, provider: 'net1' },
    other: { id: 20, provider: 'net1' },
    code: 'VlanConflict',
  },
  'the addresses of an IPPool': {
    write: (cluster, name, spec, { status, ...more }: { status?: object }) =>
      cluster.change('ipPools', name, parseIpPool({ metadata: meta(name, more), spec, status })),
    conditions: (cluster, name) => planIpPoolConditions(cluster, name, undefined),
    mine: { subnet: 'ovn-default', ips: ['10.16.0.10..10.16.0.20'] },
    other: { subnet: 'ovn-default', ips: ['10.16.0.30'] },
    code: 'IPPoolOverlap',
  },
  'the addresses of a LoadBalancerPool': {
    write: (cluster, name, spec, { status, ...more }: { status?: object }) =>
      cluster.change('loadBalancerPools', name, parseLoadBalancerPool({ metadata: meta(name, more), spec, status })),
    conditions: (cluster, name) => planPoolConditions(cluster, name),
    mine: { addresses: ['192.0.2.10..192.0.2.20'] },
    other: { addresses: ['192.0.2.30'] },
    code: 'PoolOverlap',
  },
};

describe('an object in force keeps', () => {
  for (const [what, { write, conditions, mine, other, code }] of Object.entries(kinds))
    test(`${what}, against an older object that comes to ask for it, and over a restart`, () => {
      const validated = (cluster: TestCluster, name: string): string =>
        conditions(cluster, name).find(({ type }) => type === 'Validated')?.reason ?? '';
      const statusOf = (cluster: TestCluster, name: string): object => ({ conditions: conditions(cluster, name) });
      const cluster = basic();
      network(cluster, 'net1', { defaultInterface: 'eth1' });
      write(cluster, 'young', mine, created(5));
      write(cluster, 'old', other, created(2));
      cluster.settle();
      const accepted = { young: statusOf(cluster, 'young'), old: statusOf(cluster, 'old') };
      write(cluster, 'young', mine, { ...created(5), status: accepted.young });
      write(cluster, 'old', mine, { ...created(2), generation: 2, status: accepted.old });
      cluster.settle();
      assert.deepEqual([validated(cluster, 'young'), validated(cluster, 'old')], ['Validated', code]);

      const next = basic();
      network(next, 'net1', { defaultInterface: 'eth1' });
      write(next, 'old', mine, { ...created(2), generation: 2, status: statusOf(cluster, 'old') });
      // Edited in something else meanwhile.
      write(next, 'young', mine, { ...created(5), generation: 2, status: accepted.young });
      next.settle();
      assert.deepEqual([validated(next, 'young'), validated(next, 'old')], ['Validated', code]);
    });

  const condition = (status: string, reason: string, observedGeneration: number): object => ({
    conditions: [{ type: 'Validated', status, reason, observedGeneration, lastTransitionTime: '' }],
  });

  test('the id of a Vlan whose ProviderNetwork was missing, against an older Vlan that was refused', () => {
    const cluster = basic();
    const spec = { id: 10, provider: 'net1' };
    const write = (name: string, more: object, status: object): void =>
      cluster.change('vlans', name, parseVlan({ metadata: meta(name, { ...more }), spec, status }));
    write('old', created(2), condition('False', 'VlanConflict', 1));
    write('young', created(5), condition('False', 'ProviderNetworkNotFound', 1));
    network(cluster, 'net1', { defaultInterface: 'eth1' });
    cluster.settle();
    assert.equal(cluster.vlanVerdicts.get('young')?.problem, undefined);
    assert.match(cluster.vlanVerdicts.get('old')?.problem?.message ?? '', /belongs to Vlan young/);
  });

  test('the name of a security group with a rule that cannot be read, against an older group that was refused', () => {
    const cluster = basic();
    const write = (name: string, spec: object, more: object, status: object): void =>
      cluster.change('securityGroups', name, parseSecurityGroup({ metadata: meta(name, { ...more }), spec, status }));
    write('a-b', {}, created(2), condition('False', 'NameConflict', 1));
    write('a.b', {}, created(5), condition('False', 'RemoteAddressInvalid', 2));
    cluster.settle();
    assert.equal(nameConflictOf(cluster, 'a.b'), undefined);
    assert.match(nameConflictOf(cluster, 'a-b')?.message ?? '', /security group a\.b/);
  });

  test('the table of an egress gateway, in spite of other problems of the Subnet', () => {
    const spec = { externalEgressGateway: '192.0.2.1', policyRoutingPriority: 9, policyRoutingTableID: 9 };
    const acls = [{ direction: 'sideways', priority: 1, match: 'ip', action: 'drop' }];
    const build = (cluster: TestCluster, statuses: readonly object[]): void => {
      const write = (name: string, more: object, cidrBlock: string, status: object | undefined): void =>
        cluster.change(
          'subnets',
          name,
          parseSubnet({ metadata: meta(name, { ...more }), spec: { ...spec, acls, cidrBlock, ...more }, status }),
        );
      write('old', { ...created(2), externalEgressGateway: '192.0.2.2' }, '10.31.0.0/24', statuses[0]);
      write('young', created(5), '10.32.0.0/24', statuses[1]);
      cluster.settle();
    };
    const validated = (cluster: TestCluster, name: string) =>
      planSubnetConditions(cluster, name, undefined).find(({ type }) => type === 'Validated');
    const [before, after] = [basic(), basic()];
    // As after an edit of the older one.
    build(before, [condition('False', 'EgressTableConflict', 1), condition('False', 'AclInvalid', 1)]);
    const statuses = ['old', 'young'].map((name) => ({ conditions: [validated(before, name)] }));
    build(after, statuses);
    for (const cluster of [before, after]) {
      assert.equal(validated(cluster, 'old')?.reason, 'EgressTableConflict');
      assert.match(validated(cluster, 'old')?.message ?? '', /table 9 leads to 192\.0\.2\.1 for subnet young/);
      assert.doesNotMatch(validated(cluster, 'young')?.message ?? '', /table 9/);
    }
  });

  test('the port of a peering, in spite of other problems of the Vpc, against an older Vpc that later needs the name', () => {
    const cluster = basic();
    const peering = (remoteVpc: string, localConnectIP: string): object => ({
      vpcPeerings: [{ remoteVpc, localConnectIP }],
      staticRoutes: [{ cidr: 'nowhere', nextHopIP: '10.1.0.1' }],
    });
    const write = (name: string, spec: object, more: object, status?: object): void =>
      cluster.change('vpcs', name, parseVpc({ metadata: meta(name, { ...more }), spec, status }));
    const flawed = condition('False', 'StaticRouteInvalid', 1);
    write('a-b', peering('c', '169.254.2.1/30'), created(3), { ...flawed, vpcPeerings: ['c'] });
    write('c', peering('a-b', '169.254.2.2/30'), created(3), { ...flawed, vpcPeerings: ['a-b'] });
    write('a', peering('b-c', '169.254.1.1/30'), { ...created(2), generation: 2 }, condition('True', 'Validated', 1));
    write('b-c', peering('a', '169.254.1.2/30'), { ...created(2), generation: 2 }, condition('True', 'Validated', 1));
    cluster.settle();
    assert.deepEqual([peers(cluster, 'a-b'), peers(cluster, 'a')], [['c'], []]);
    assert.match(
      falseConditions(cluster, 'a')['Validated'] ?? '',
      /port a-b-c would be that of the peering of Vpc a-b with c/,
    );
  });

  test('a namespace in a Vpc without Subnets, against an older Vpc that lists it too; also over a restart', () => {
    const cluster = basic();
    cluster.change('namespaces', 'shop', parseNamespace({ metadata: meta('shop') }));
    vpc(cluster, 'young', { namespaces: ['shop'] }, created(3));
    cluster.settle();
    vpc(cluster, 'old', { namespaces: ['shop'] }, created(1));
    cluster.settle();
    const next = new TestCluster();
    next.change('namespaces', 'shop', parseNamespace({ metadata: meta('shop') }));
    for (const name of ['ovn-cluster', 'old', 'young']) {
      const object = cluster.vpcs.get(name);
      assert.ok(object);
      next.change('vpcs', name, { ...object, status: planVpcStatus(cluster, object) });
    }
    next.restore(new Map());
    next.settle();
    for (const one of [cluster, next]) {
      assert.equal(one.binding('shop').vpc, 'young');
      assert.match(falseConditions(one, 'old')['Validated'] ?? '', /shop is in Vpc young, which had it before/);
      assert.equal(falseConditions(one, 'young')['Validated'], undefined);
    }
  });

  test('a namespace in its Vpc, against an older Vpc that later lists it', () => {
    const cluster = basic();
    cluster.change('namespaces', 'shop', parseNamespace({ metadata: meta('shop') }));
    vpc(cluster, 'old', {}, created(1));
    vpc(cluster, 'young', { namespaces: ['shop'] }, created(3));
    subnet(cluster, 'sea', { cidrBlock: '10.30.0.0/24', vpc: 'young' }, created(3));
    subnet(cluster, 'lake', { cidrBlock: '10.31.0.0/24', vpc: 'old' }, created(2));
    cluster.settle();
    vpc(cluster, 'old', { namespaces: ['shop'] }, created(1));
    cluster.settle();
    assert.deepEqual(cluster.binding('shop'), { vpc: 'young', subnets: ['sea'], others: [] });
    assert.match(
      falseConditions(cluster, 'old')['Validated'] ?? '',
      /shop is in Vpc young by sea, which had it before/,
    );
    vpc(cluster, 'young', {}, created(3));
    cluster.settle();
    assert.deepEqual(cluster.binding('shop').subnets, ['lake']);
  });
});
