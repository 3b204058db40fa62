import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGateway } from './gateway-role.ts';

test('a node is a gateway while the Interconnect selects it or it still has paths', () => {
  const labels = { gw: 'true' };
  const selectors = [{ matchLabels: { gw: 'true' } }];
  assert.ok(isGateway({ labels, selectors, hasObject: false }));
  assert.ok(isGateway({ labels: {}, selectors, hasObject: true }), 'until its paths have moved');
  assert.ok(!isGateway({ labels: {}, selectors, hasObject: false }));
  assert.ok(!isGateway({ labels, selectors: [], hasObject: false }), 'the cluster has left');
});
