import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WatchedTunnels } from './watched-tunnels.ts';

test('sessions start for five seconds after one came up, and not when one goes down', () => {
  const tunnels = new WatchedTunnels();
  assert.equal(tunnels.isStarting(0), false);
  tunnels.set(new Set(['n1', 'n3']), 0);
  assert.equal(tunnels.isStarting(1), false, 'up before the daemon began');
  tunnels.set(new Set(['n3']), 5000);
  assert.equal(tunnels.isStarting(5000), false);
  tunnels.set(new Set([]), 6000);
  tunnels.set(new Set(['n3']), 7000);
  tunnels.set(new Set(['n3']), 8000);
  assert.deepEqual([tunnels.isStarting(11_999), tunnels.isStarting(12_000)], [true, false]);
});
