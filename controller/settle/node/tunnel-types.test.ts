import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeProblems } from '../../plan/node/problems.ts';
import { basic, meta } from '../../testing-vpcs.ts';
import { parseNode } from '../../watch/workloads.ts';
import { TunnelTypes } from './tunnel-types.ts';

test('nodes without a type of tunnel in common say so, until all have one', () => {
  const cluster = basic();
  for (const name of ['n1', 'n2', 'n3'])
    cluster.change('nodes', name, parseNode({ metadata: meta(name), status: { addresses: [] } }));
  cluster.settle();
  const problem = (name: string): string =>
    nodeProblems(cluster, name).find(({ code }) => code === 'NoCommonTunnelType')?.message ?? '';
  const set = (...types: readonly string[]): ReadonlySet<string> => {
    cluster.tunnels.set(new Map(types.map((type, index) => [`n${index + 1}`, type])));
    return cluster.settle();
  };
  assert.equal(set('geneve', 'geneve', 'geneve,vxlan').has('node/n1'), false);
  assert.ok(set('geneve', 'vxlan', 'geneve,vxlan').has('node/n1'));
  assert.match(problem('n1'), /^node n1 offers tunnels of type geneve and has none to n2 \(vxlan\): set/);
  assert.match(problem('n2'), /has none to n1 \(geneve\)/);
  assert.equal(problem('n3'), '');
  assert.ok(set('geneve', 'vxlan', 'geneve').has('node/n3'));
  assert.match(problem('n2'), /has none to n1, n3 \(geneve\)/);
  assert.ok(set('vxlan', 'vxlan', 'vxlan').has('node/n2'));
  assert.deepEqual(['n1', 'n2', 'n3'].map(problem), ['', '', '']);
});

test('a message names some nodes, and stays while others change', () => {
  const changed: string[] = [];
  const tunnels = new TunnelTypes((node) => changed.push(node));
  const set = (vxlan: number): void => {
    const names = Array.from({ length: vxlan }, (_, index) => [`v${index}`, 'vxlan'] as const);
    tunnels.set(new Map([['n1', 'geneve'], ...names]));
  };
  set(6);
  assert.match(tunnels.problem('n1')?.message ?? '', /has none to v0, v1, v2, v3, v4 and others \(vxlan\)/);
  changed.length = 0;
  set(8);
  assert.deepEqual(changed, ['v6', 'v7']);
});
