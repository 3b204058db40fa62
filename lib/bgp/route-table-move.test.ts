import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RouteTable } from './route-table.ts';
import { advertisementOf, nodeOf, podOf, stateOf, subnetOf } from './testing.ts';

const state = stateOf({
  nodes: [nodeOf('n1', ['10.0.0.1']), nodeOf('n2', ['10.0.0.2']), nodeOf('n3', ['10.0.0.3'], {})],
  advertisements: [
    advertisementOf('subnets', { selector: { matchLabels: { tier: 'web' } } }),
    advertisementOf('pods', { source: 'Pod' }),
  ],
  subnets: [subnetOf('web', ['10.16.0.0/16'], { labels: { tier: 'web' } }), subnetOf('db', ['10.17.0.0/16'])],
  pods: [podOf('a', ['10.16.0.1'], { node: 'n1' }), podOf('b', ['10.16.0.2'], { node: 'n2' })],
});

test('a table moved to another node equals the table built for that node', () => {
  const moved = new RouteTable();
  moved.rebuild(state, { isLeaving: false });
  assert.deepEqual([...moved.routes.keys()], ['10.16.0.0/16', '10.16.0.1/32']);
  for (const [node, announcing] of [
    ['n2', { isLeaving: false }],
    ['n1', { isLeaving: true }],
    ['n1', undefined],
    ['n3', { isLeaving: false }],
    ['n2', { isLeaving: true }],
  ] as const) {
    const built = new RouteTable();
    built.rebuild({ ...state, node }, announcing);
    moved.moveTo(node, announcing);
    const byPrefix = ({ routes }: RouteTable) => [...routes].toSorted(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(byPrefix(moved), byPrefix(built));
    assert.deepEqual(Object.fromEntries(moved.classes), Object.fromEntries(built.classes));
  }
});
