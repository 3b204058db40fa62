import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TunnelLiveness } from './tunnel-liveness.ts';

test('after ovs-vswitchd went down, the states of its tunnels are stale until each is rewritten', () => {
  const liveness = new TunnelLiveness();
  assert.equal(
    liveness.setSwitchDown(true, () => ['a', 'b']),
    true,
  );
  assert.deepEqual([liveness.isSwitchDown, liveness.isStale('a'), liveness.isStale('c')], [true, true, false]);
  assert.equal(liveness.setSwitchDown(true, assert.fail), false, 'it was down already');
  assert.equal(liveness.setSwitchDown(false, assert.fail), true);
  liveness.rewritten('a');
  assert.deepEqual([liveness.isSwitchDown, liveness.isStale('a'), liveness.isStale('b')], [false, false, true]);
});

test('all states count again after a period without rewrites', () => {
  const liveness = new TunnelLiveness();
  assert.equal(liveness.trustAll(), false, 'none was stale');
  liveness.setSwitchDown(true, () => ['a']);
  assert.equal(liveness.trustAll(), true);
  assert.equal(liveness.isStale('a'), false);
});
