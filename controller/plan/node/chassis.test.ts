import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNode } from '../../watch/workloads.ts';
import { planChassis } from './chassis.ts';
import type { ChassisRow } from './chassis.ts';

const nodesOf = (chassis: Readonly<Record<string, string>>) => ({
  nodes: new Map(
    Object.entries(chassis).map(([name, id]) => {
      const annotations = id === '' ? {} : { 'ovn.kubernetes.io/chassis': id };
      return [name, parseNode({ metadata: { name, uid: name, resourceVersion: '1', annotations } })];
    }),
  ),
});
const row = (
  name: string,
  externalIds: Readonly<Record<string, string>> = {},
  more: Partial<ChassisRow> = {},
): ChassisRow => ({
  name,
  hostname: '',
  externalIds,
  isRemote: false,
  ...more,
});
const tag = (node: string) => ({ vendor: 'kube-ovn', node });

test('a chassis that a node names gets its tag, once', () => {
  const plan = planChassis(nodesOf({ n1: 'c1', n2: 'c2' }), [row('c1', { other: 'x' }), row('c2', tag('n2'))]);
  assert.deepEqual([...plan.tags], [['c1', tag('n1')]]);
  assert.equal(plan.removals.size, 0);
});

test('a tagged chassis goes with its node, and when its node has another one', () => {
  const plan = planChassis(nodesOf({ n1: 'new', n2: '' }), [
    row('gone', tag('n9')),
    row('old', tag('n1')),
    row('new', tag('n1')),
    // Its daemon has not reported yet which one it is.
    row('c2', tag('n2')),
  ]);
  assert.deepEqual([...plan.removals.keys()], ['gone', 'old']);
});

test('a chassis that Kube-OVN tagged is identified by its hostname', () => {
  const kubeOvn = { vendor: 'kube-ovn' };
  const plan = planChassis(nodesOf({ n1: '' }), [
    row('c1', kubeOvn, { hostname: 'n1' }),
    row('c9', kubeOvn, { hostname: 'n9' }),
    row('nameless', kubeOvn),
  ]);
  assert.deepEqual([...plan.removals.keys()], ['c9']);
});

test('a chassis without a tag or of another cluster stays unchanged', () => {
  const plan = planChassis(nodesOf({ n1: 'c1' }), [
    row('stranger', {}, { hostname: 'n9' }),
    row('far', tag('n9'), { isRemote: true }),
    row('c1', {}, { isRemote: true }),
  ]);
  assert.deepEqual([plan.tags.size, plan.removals.size], [0, 0]);
});
