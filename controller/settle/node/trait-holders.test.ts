/** What a Node gives as its addresses: a kubelet writes them, and may write those of others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { learnedProblems } from '../../plan/bgp/problems.ts';
import { viewOf } from '../../../lib/slices/testing.ts';
import { heldBy } from './traits.ts';
import { planKey } from '../../plan/plan.ts';
import { bgpNodeStateView } from '../../watch/bgp.ts';
import { parseSubnet, parseVpc } from '../../watch/networks.ts';
import { parseNode } from '../../watch/workloads.ts';
import { TestCluster } from '../../testing-cluster.ts';

type Metadata = Readonly<Record<string, unknown>>;

function meta(name: string, more: Metadata = {}): never {
  return { name, uid: `uid-${name}`, resourceVersion: '1', generation: 1, ...more } as never;
}

function basic(): TestCluster {
  const cluster = new TestCluster();
  cluster.change('vpcs', 'ovn-cluster', parseVpc({ metadata: meta('ovn-cluster') }));
  for (const [name, cidrBlock] of [
    ['join', '100.64.0.0/16'],
    ['ovn-default', '10.16.0.0/24'],
  ] as const)
    cluster.change('subnets', name, parseSubnet({ metadata: meta(name), spec: { cidrBlock } }));
  const status = { addresses: [{ type: 'InternalIP', address: '172.30.0.1' }] };
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1'), status }));
  return cluster;
}

describe('addresses that Nodes give as theirs', () => {
  const nodeWith = (name: string, addresses: readonly string[], more: Metadata = {}) =>
    parseNode({
      metadata: meta(name, more),
      status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
    });
  const learnedBy = (name: string, prefix: string) =>
    viewOf(bgpNodeStateView, { metadata: meta(name) }, [
      { prefix, peer: 'tor', nextHop: '172.30.0.254', preference: 100, vpc: 'ovn-cluster' },
    ]);

  test('remove no learned route, unless the Node is served by them', () => {
    const cluster = basic();
    const far = '203.0.113.5';
    cluster.change('bgpNodeStates', 'n1', learnedBy('n1', `${far}/32`));
    cluster.restore(new Map());
    const routesAfter = (...addresses: readonly string[]) => {
      cluster.change('nodes', 'n9', nodeWith('n9', addresses));
      cluster.settle();
      return cluster.learned.get(`${far}/32`)?.hops.length;
    };
    assert.equal(routesAfter('172.30.0.9'), 1);
    const many = Array.from({ length: 16 }, (_, index) => `172.30.9.${index}`);
    assert.equal(routesAfter(...many, far), 1, 'more than are heeded');
    assert.equal(routesAfter(far), 0, 'it may live on it');
    cluster.change('bgpNodeStates', 'n1', learnedBy('n1', '10.16.0.7/32'));
    cluster.change('nodes', 'n9', nodeWith('n9', ['10.16.0.7']));
    cluster.settle();
    assert.match(learnedProblems(cluster, 'n1')[0]?.message ?? '', /belongs to subnet ovn-default/);
  });

  test('stay with the Node that has them over a restart, also if it is not served by them', () => {
    const nodes = [
      nodeWith('younger', ['10.16.0.7'], { creationTimestamp: '2026-01-02T00:00:00Z' }),
      nodeWith('older', ['10.16.0.7'], { creationTimestamp: '2026-01-01T00:00:00Z' }),
    ];
    const before = basic();
    before.restore(new Map());
    for (const each of nodes) before.change('nodes', each.name, each);
    before.settle();
    assert.equal(before.holderOf('10.16.0.7'), 'younger');
    const holders = new Map(
      nodes.flatMap(({ name }) =>
        planKey(before, `node/${name}`).rows.flatMap(({ table, columns }) =>
          heldBy(table, columns).map((trait): [string, string] => [trait, name]),
        ),
      ),
    );
    const after = basic();
    for (const each of nodes) after.change('nodes', each.name, each);
    after.restore(new Map(), holders);
    assert.equal(after.holderOf('10.16.0.7'), 'younger');
  });
});
