import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { planKey, reportKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { allApplied, planned } from '../../testing-reports.ts';
import { rule, service } from '../../testing-services.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseNamespace } from '../../watch/workloads.ts';
import { parseVpcDns } from '../../watch/vpc-dns.ts';

const capabilities = { aclTier: false, ipv6Selection: false, loadBalancers: true, externalIps: true };
const clusterDns = {
  clusterIPs: ['10.96.0.10'],
  ports: [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'tcp', port: 53, protocol: 'TCP' },
  ],
};

function dns(cluster: TestCluster, name: string, spec: object | undefined, createdAt = created(3)): void {
  const before = cluster.vpcDnses.get(name);
  const raw = { metadata: meta(name, createdAt), spec, status: { conditions: before?.conditions ?? [] } };
  cluster.change('vpcDnses', name, spec === undefined ? undefined : parseVpcDns(raw));
}

/** Writes the conditions that the reports want, as the status writer does. */
function reported(cluster: TestCluster): void {
  for (const [name, object] of cluster.vpcDnses) {
    const conditions = reportKey(cluster, `vpc-dns/${name}`, allApplied)[0]?.status?.conditions ?? [];
    cluster.change('vpcDnses', name, { ...object, conditions });
  }
}

function started(fill: (cluster: TestCluster) => void): TestCluster {
  const cluster = new TestCluster(capabilities);
  vpc(cluster, 'ovn-cluster', {}, created(1));
  vpc(cluster, 'blue', {}, created(2));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(2));
  subnet(cluster, 'sea', { cidrBlock: '10.16.0.0/24', vpc: 'blue', namespaces: ['blue'] }, created(2));
  cluster.change('namespaces', 'blue', parseNamespace({ metadata: meta('blue', created(1)) }));
  service(cluster, 'kube-system/kube-dns', clusterDns, created(1));
  fill(cluster);
  cluster.restore(new Map());
  cluster.settle();
  return cluster;
}

function active(cluster: TestCluster): readonly string[] {
  const names = [...cluster.vpcDnses.keys()].sort();
  return names.filter((name) => planKey(cluster, `vpc-dns/${name}`).rows.length > 0);
}

describe('the VpcDns of a VPC', () => {
  test('is the oldest, and stays when an older one gets a valid spec', () => {
    const cluster = started((empty) => {
      dns(empty, 'old', { vpc: 'blue', corefile: 'mine' }, created(3));
      dns(empty, 'middle', { vpc: 'blue' }, created(4));
      dns(empty, 'young', { vpc: 'blue' }, created(5));
    });
    reported(cluster);
    cluster.settle();
    assert.deepEqual(active(cluster), ['middle']);
    dns(cluster, 'old', { vpc: 'blue' }, created(3));
    cluster.settle();
    assert.deepEqual(active(cluster), ['middle']);
    dns(cluster, 'middle', undefined);
    cluster.settle();
    assert.deepEqual(active(cluster), ['old']);
  });

  test('has the address of DNS, whatever a Service or a rule of the VPC asks for', () => {
    const vip = { clusterIPs: ['10.96.0.77'], externalIPs: ['10.96.0.10'], ports: clusterDns.ports };
    const cluster = started((empty) => {
      service(empty, 'blue/thief', vip, { ...created(1), annotations: { 'ovn.kubernetes.io/vpc': 'blue' } });
      rule(
        empty,
        'forger',
        { vip: '10.96.0.10', namespace: 'blue', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
        created(1),
      );
    });
    const hasVip = (key: string): boolean => planned(cluster, key).includes('10.96.0.10:53');
    assert.ok(hasVip('service/blue/thief'));
    dns(cluster, 'blue', { vpc: 'blue' });
    cluster.settle();
    assert.ok(hasVip('vpc-dns/blue'));
    for (const key of ['service/blue/thief', 'switch-lb-rule/forger'])
      assert.match(planned(cluster, key), /AddressInUse.*10\.96\.0\.10:53 is a virtual address of VpcDns blue/, key);
    const vips = planKey(cluster, 'service/blue/thief').rows.map(({ columns }) => Object.keys(columns['vips'] ?? {}));
    assert.ok(!vips.flat().includes('10.96.0.10:53'));
    dns(cluster, 'blue', undefined);
    cluster.settle();
    assert.ok(hasVip('service/blue/thief'));
  });
});

test('after any change, no plan or report differs from what was planned last', () => {
  const random = randomOf(1);
  const one = <T>(...values: readonly T[]): T => pick(random, values);
  const cluster = started(() => undefined);
  const names = ['a', 'b', 'c'];
  const seen = new Map<string, string>();
  const note = (keys: Iterable<string>): void => {
    for (const key of keys) seen.set(key, planned(cluster, key));
  };
  const change = (): void => {
    const of = one('dns', 'dns', 'subnet', 'vpc', 'service', 'status');
    if (of === 'dns')
      dns(
        cluster,
        one(...names),
        one(undefined, { vpc: 'blue' }, { vpc: 'red' }, { vpc: 'blue', subnet: 'sea' }, { vpc: 'red', subnet: 'pond' }),
        created(one(3, 4, 5)),
      );
    else if (of === 'subnet')
      subnet(cluster, 'pond', { cidrBlock: one('10.17.0.0/24', 'fd3b:9d15:7c2e::/48'), vpc: 'red' }, created(6));
    else if (of === 'vpc')
      vpc(
        cluster,
        'red',
        one({}, { vpcPeerings: [{ remoteVpc: 'blue', localConnectIP: '169.254.253.1/24' }] }),
        created(2),
      );
    else if (of === 'service')
      service(
        cluster,
        'kube-system/kube-dns',
        one(clusterDns, { ...clusterDns, clusterIPs: ['10.96.0.11'] }),
        created(1),
      );
    else reported(cluster);
  };
  for (let step = 0; step < 300; step += 1) {
    change();
    note(cluster.settle());
    for (const name of names) {
      const key = `vpc-dns/${name}`;
      const now = planned(cluster, key);
      if (seen.has(key) || cluster.vpcDnses.has(name)) assert.equal(seen.get(key), now, `step ${step}: ${key}`);
    }
  }
});
