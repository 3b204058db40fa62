import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { randomOf } from '../../../lib/testing-random.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { parseTransitSwitch } from '../../watch/networks.ts';
import { parseNamespace } from '../../watch/workloads.ts';
import { features } from '../features.ts';
import { planNamespaceAnnotations } from '../namespace/namespace.ts';
import { planKey } from '../plan.ts';
import { planned } from '../../testing-reports.ts';
import { basic, created, meta, subnet, falseConditions, vpc } from '../../testing-vpcs.ts';

describe('load balancers', () => {
  test('each VPC has six, on the switches that want them', () => {
    const cluster = basic();
    vpc(cluster, 'blue', {});
    subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24', vpc: 'blue' });
    subnet(cluster, 'bare', { cidrBlock: '10.2.0.0/24', vpc: 'blue', enableLb: false });
    cluster.settle();
    const names = planKey(cluster, 'load-balancer/blue').rows.map(({ key }) => key);
    assert.deepEqual(
      names,
      ['tcp', 'udp', 'sctp'].flatMap((one) => [`vpc-blue-${one}-load`, `vpc-blue-${one}-sess-load`]),
    );
    const values = planKey(cluster, 'switch-load-balancer/sea').contributions?.[0]?.values ?? [];
    assert.deepEqual(
      values.map((value) => (value as { ref: { key: string } }).ref.key),
      names,
    );
    for (const name of ['bare', 'join'])
      assert.deepEqual(planKey(cluster, `switch-load-balancer/${name}`).contributions ?? [], []);
    const none = new TestCluster({ aclTier: true, ipv6Selection: true, loadBalancers: false });
    vpc(none, 'blue', {});
    none.restore(new Map());
    none.settle();
    assert.deepEqual(planKey(none, 'load-balancer/blue').rows, []);
  });
});

describe('namespaces', () => {
  test('of a VPC, and the VPC that loses a conflict', () => {
    const cluster = basic();
    cluster.change('namespaces', 'shop', parseNamespace({ metadata: meta('shop') }));
    vpc(cluster, 'blue', { namespaces: ['shop', 'kube-system'], defaultSubnet: 'sea' }, created(2));
    vpc(cluster, 'red', { namespaces: ['shop'] }, created(3));
    cluster.settle();
    assert.deepEqual(cluster.binding('shop').subnets, ['sea'], 'pods wait for it');
    assert.deepEqual(cluster.binding('kube-system').subnets, ['ovn-default']);
    assert.match(falseConditions(cluster, 'blue')['Validated'] ?? '', /kube-system serves all VPCs/);
    assert.match(falseConditions(cluster, 'red')['Validated'] ?? '', /shop is in Vpc blue by sea, which had it before/);
    subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24' }, created(2));
    subnet(cluster, 'lake', { cidrBlock: '10.2.0.0/24', vpc: 'blue' }, created(3));
    cluster.settle();
    assert.match(
      falseConditions(cluster, 'blue')['Validated'] ?? '',
      /spec\.defaultSubnet: subnet sea is in Vpc ovn-cluster/,
    );
    assert.deepEqual(cluster.binding('shop').subnets, ['lake']);
    vpc(cluster, 'blue', { namespaces: ['shop'] }, created(2));
    subnet(cluster, 'pond', { cidrBlock: '10.3.0.0/24', vpc: 'blue', namespaces: ['shop'] }, created(4));
    cluster.settle();
    assert.deepEqual(cluster.binding('shop').subnets, ['pond'], 'the one that asks comes before the oldest');
    const shop = cluster.namespaces.get('shop');
    assert.ok(shop);
    assert.deepEqual(planNamespaceAnnotations(cluster, shop)['ovn.kubernetes.io/cidr'], '10.3.0.0/24');
    for (const name of ['lake', 'pond']) subnet(cluster, name, undefined);
    cluster.settle();
    assert.deepEqual(cluster.binding('shop').subnets, [], 'not in another VPC');
  });
});

test('a VPC is deleted after its subnets, and gets no new ones', () => {
  const cluster = basic();
  const leaving = { deletionTimestamp: '2026-01-09T00:00:00Z' };
  vpc(cluster, 'blue', {});
  subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24', vpc: 'blue' });
  cluster.settle();
  vpc(cluster, 'blue', { bfdPort: { enabled: true } }, leaving);
  subnet(cluster, 'lake', { cidrBlock: '10.2.0.0/24', vpc: 'blue' });
  cluster.settle();
  assert.equal(cluster.verdicts.get('lake')?.problem?.code, 'VpcNotFound');
  assert.match(falseConditions(cluster, 'blue')['Validated'] ?? '', /^NotSupported: spec\.bfdPort/);
  assert.equal(planKey(cluster, 'vpc/blue').rows.length, 1);
  vpc(cluster, 'blue', {}, leaving);
  cluster.settle();
  assert.equal(falseConditions(cluster, 'blue')['Ready'], 'Deleting: waits for the deletion of subnets sea');
  subnet(cluster, 'sea', undefined);
  assert.ok(cluster.settle().has('vpc/blue'));
  assert.deepEqual(planKey(cluster, 'vpc/blue').rows, []);
});

test('after random changes every plan and status is current', () => {
  const random = randomOf(7);
  const pick = <T>(...list: readonly T[]): T => list[random(list.length)] as T;
  const cluster = basic();
  const vpcs = ['ovn-cluster', 'a', 'b', 'a-b'];
  const subnets = ['b', 'c', 'b-c', 'd', 'join'];
  const nets = ['10.1.0.0/24', '10.1.0.0/25', '10.2.0.0/24', '169.254.0.0/24', 'bad', '10.3.0.0/24,fd00:3::/64'];
  const vpcSpec = (): object => ({
    defaultSubnet: pick('', '', ...subnets),
    namespaces: pick([], ['ns'], ['ns', 'kube-system']),
    staticRoutes: pick(
      [],
      [
        {
          cidr: pick('0.0.0.0/0', '10.8.0.0/16'),
          nextHopIP: pick('10.1.0.9', '169.254.0.2', 'x'),
          routeTable: pick('', 't'),
        },
      ],
    ),
    policyRoutes: pick([], [{ priority: 1, match: 'ip4', action: 'reroute', nextHopIP: pick('10.2.0.9', '10.9.0.9') }]),
    vpcPeerings: pick(
      [],
      vpcs.map((remoteVpc, index) => ({
        remoteVpc,
        localConnectIP: `169.254.${random(3)}.${1 + index}/${pick(24, 30)}`,
      })),
      [{ remoteVpc: pick(...vpcs, 'c', 'b-c'), localConnectIP: `169.254.0.${1 + random(3)}/29` }],
    ),
  });
  const last = new Map<string, string>();
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  for (let round = 0; round < 2500; round += 1) {
    const leaving = random(5) === 0 ? { deletionTimestamp: '2026-01-09T00:00:00Z' } : {};
    const act = random(10);
    const name = pick(...vpcs);
    if (act < 5) vpc(cluster, name, random(5) === 0 ? undefined : vpcSpec(), { ...leaving, ...created(1 + random(3)) });
    else if (act < 9) {
      const spec = {
        cidrBlock: pick(...nets),
        vpc: pick(...vpcs),
        routeTable: pick('', 't'),
        enableLb: pick(true, false, undefined),
      };
      subnet(cluster, pick(...subnets), random(4) === 0 ? undefined : spec, { ...leaving, ...created(1 + random(3)) });
    } else {
      const cidr = pick('169.254.0.0/24', '192.168.0.0/24');
      const value = random(3) === 0 ? undefined : parseTransitSwitch({ metadata: meta('ts'), status: { cidr } });
      cluster.change('transitSwitches', 'ts', value);
    }
    if (random(3) === 0) continue;
    for (const key of cluster.settle()) last.set(key, planned(cluster, key));
    for (const [key, text] of last) assert.equal(planned(cluster, key), text, `${key} in round ${round}`);
    for (const feature of features)
      for (const id of feature.all(cluster)) {
        const key = `${feature.name}/${id}`;
        if (planKey(cluster, key).rows.length > 0)
          assert.ok(last.has(key), `${key} was never planned, in round ${round}`);
      }
    const rows = [...last.keys()].flatMap((key) => planKey(cluster, key).rows.map((row) => `${row.table} ${row.key}`));
    assert.equal(new Set(rows).size, rows.length, `two plans want one row in round ${round}`);
  }
});
