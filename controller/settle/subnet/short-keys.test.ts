import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planSubnetConditions } from '../../plan/conditions.ts';
import { readAcls } from '../../plan/subnet/acl-items.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parsePod } from '../../watch/workloads.ts';
import { mostPorts } from '../address/addresses.ts';

const capabilities = { aclTier: false, ipv6Selection: false, loadBalancers: true };

function clusterWith(shortKeys: boolean): TestCluster {
  const cluster = new TestCluster({ ...capabilities, shortKeys });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.restore(new Map());
  return cluster;
}

function pods(cluster: TestCluster, from: number, to: number): void {
  for (let index = from; index < to; index += 1) {
    const metadata = meta(`p${index}`, { namespace: 'shop', ...created(2) });
    cluster.change('pods', `shop/p${index}`, parsePod({ metadata, spec: { nodeName: 'n1' } }));
  }
  cluster.settle();
}

const problemOf = (cluster: TestCluster, index: number): string =>
  cluster.addressProblem(`pod/shop/p${index}`)?.message ?? '';

const conditionOf = (cluster: TestCluster, wanted: string): string => {
  const found = planSubnetConditions(cluster, 'ovn-default', undefined).find(({ type }) => type === wanted);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
};

describe('with short keys', () => {
  test('a subnet has as many ports as there are keys, and a pod waits until another is gone', () => {
    const cluster = clusterWith(true);
    pods(cluster, 0, mostPorts + 1);
    const waiting = Array.from({ length: mostPorts + 1 }, (_, index) => index).filter((index) =>
      problemOf(cluster, index),
    );
    assert.equal(waiting.length, 1);
    assert.match(problemOf(cluster, waiting[0] ?? 0), /subnet ovn-default has 2000 ports, and VXLAN has keys for 2000/);
    const gone = waiting[0] === 0 ? 1 : 0;
    cluster.change('pods', `shop/p${gone}`, undefined);
    cluster.settle();
    assert.equal(problemOf(cluster, waiting[0] ?? 0), '');
  });

  test('there is no such limit for Geneve', () => {
    const cluster = clusterWith(false);
    pods(cluster, 0, mostPorts + 1);
    assert.deepEqual(
      [0, mostPorts].map((index) => problemOf(cluster, index)),
      ['', ''],
    );
  });

  test('a subnet names the ports that have longer ones, until they are created again', () => {
    const cluster = clusterWith(true);
    pods(cluster, 0, 8);
    assert.match(conditionOf(cluster, 'Ready'), /^True/);
    const wide = cluster.pods.keys().map((key) => `${key.slice('shop/'.length)}.shop`);
    cluster.unreachablePorts.set(new Set([...wide, 'cr-elsewhere']));
    const due = cluster.settle();
    assert.ok(due.has('subnet/ovn-default'), 'its report is due');
    assert.equal(due.has('subnet/'), false, 'a port of a router has no address of a Subnet');
    const message =
      /^False PortKeyTooLong: VXLAN does not reach p0.shop, p1.shop, p2.shop, p3.shop, p4.shop and 3 more, whose keys in OVN are above 2047/;
    assert.match(conditionOf(cluster, 'Ready'), message);
    assert.match(conditionOf(cluster, 'Validated'), /^True/);
    cluster.unreachablePorts.set(new Set());
    assert.ok(cluster.settle().has('subnet/ovn-default'));
    assert.match(conditionOf(cluster, 'Ready'), /^True/);
  });

  test('an ACL of what reaches pods cannot name the port of the sender', () => {
    const cluster = clusterWith(true);
    const acl = (direction: string, match: string) => ({ direction, priority: 1001, match, action: 'drop' });
    subnet(cluster, 'ovn-default', {
      cidrBlock: '10.16.0.0/16',
      acls: [
        acl('to-lport', 'inport == "web.shop" && ip4'),
        acl('to-lport', 'outport == "inport" && ip4'),
        acl('from-lport', 'inport == "web.shop" && ip4'),
      ],
    });
    const { spec } = cluster.subnets.get('ovn-default') ?? {};
    assert.ok(spec);
    const { acls, problems } = readAcls(spec, cluster.capabilities);
    assert.equal(acls.length, 2);
    assert.match(
      problems.map(({ message }) => message).join(),
      /^spec.acls\[0\].match: names inport, which VXLAN does not carry/,
    );
    assert.equal(readAcls(spec, { ...capabilities }).problems.length, 0);
  });
});
