import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probeIntervalMs } from '../model/interconnect.ts';
import { nextProbe, parallelProbes } from './probe-queue.ts';

test('every peer is probed each ten seconds, or less often if that were more than five probes a second; at most four run at a time', () => {
  assert.equal(probeIntervalMs(1), 10_000);
  assert.equal(probeIntervalMs(50), 10_000);
  assert.equal(probeIntervalMs(2000), 400_000);
  const due = new Map([
    ['b1', 500],
    ['b2', 300],
  ]);
  const queue = { due, running: 0, lastStartMs: 0, nowMs: 250 };
  assert.deepEqual(nextProbe(queue), { chassis: 'b2', waitMs: 50 });
  assert.deepEqual(nextProbe({ ...queue, lastStartMs: 240 }), { chassis: 'b2', waitMs: 190 });
  assert.deepEqual(nextProbe({ ...queue, nowMs: 9000 }), { chassis: 'b2', waitMs: 0 });
  assert.equal(nextProbe({ ...queue, running: parallelProbes }), undefined);
  assert.equal(nextProbe({ ...queue, due: new Map() }), undefined);
});
