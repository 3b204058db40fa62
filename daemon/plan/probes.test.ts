import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewayProbe } from '../../lib/api/kinds/interconnect-gateway.ts';
import { isWorthWriting, planProbes } from './probes.ts';

const startMs = Date.parse('2026-01-01T00:00:00Z');

function probe(fields: Partial<GatewayProbe> = {}, secondsLater = 0): GatewayProbe {
  const at = new Date(startMs + secondsLater * 1000).toISOString();
  return { chassis: 'b1', address: '172.30.2.11', lossPercent: 0, rttMs: rtt(10), mtu: 1500, at, ...fields };
}

function rtt(avg: number): { min: number; avg: number; max: number } {
  return { min: avg, avg, max: avg };
}

function isNews(before: GatewayProbe, after: GatewayProbe, seconds: number, peers = 1): boolean {
  return isWorthWriting([before], [after], { ageMs: seconds * 1000, peers });
}

test('peers that this run has not probed yet keep their reported result while their address stays the same', () => {
  const peers = ['b2', 'b1', 'b3'].map((chassis) => ({ chassis, cluster: 'west', address: `addr-${chassis}` }));
  const stored = [probe({ address: 'addr-b1' }), probe({ chassis: 'b3', address: 'old' }), probe({ chassis: 'gone' })];
  const fresh = probe({ chassis: 'b2', address: 'addr-b2' });
  const planned = planProbes(peers, new Map([['b2', fresh]]), stored);
  assert.deepEqual(planned, [stored[0], fresh]);
});

test('thousands of peers are looked up once each', () => {
  const count = 2000;
  let reads = 0;
  const stored = Array.from({ length: count }, (_, index) => {
    const chassis = `b${String(index).padStart(4, '0')}`;
    const one = probe({ address: `addr-${chassis}` });
    return Object.defineProperty(one, 'chassis', { get: () => ((reads += 1), chassis), enumerable: true });
  });
  const peers = stored.map(({ chassis, address }) => ({ chassis, cluster: 'west', address })).toReversed();
  reads = 0;
  assert.deepEqual(planProbes(peers, new Map(), stored), stored);
  assert.ok(reads < 100 * count, `${reads} reads`);
});

test('significant changes are written at once', () => {
  const before = probe();
  for (const after of [{ mtu: 1400 }, { lossPercent: 20 }, { rttMs: rtt(21) }, { rttMs: rtt(4.5) }, { problem: 'x' }])
    assert.ok(isNews(before, probe(after, 5), 5), JSON.stringify(after));
  for (const [from, to] of [
    [0, 20],
    [20, 40],
    [80, 100],
    [100, 0],
  ] as const)
    assert.ok(isNews(probe({ lossPercent: from }), probe({ lossPercent: to }, 5), 5), `${from} to ${to}`);
  assert.ok(isNews(before, { chassis: 'b1', address: before.address, lossPercent: 100, at: before.at }, 5));
  assert.ok(isWorthWriting([], [before], { ageMs: 0, peers: 1 }));
  assert.ok(isWorthWriting([before], [], { ageMs: 0, peers: 0 }));
});

test('small changes are written every half minute, less often with many peers, and never without a newer result', () => {
  const before = probe();
  for (const after of [{}, { rttMs: rtt(19) }, { rttMs: rtt(6) }]) {
    assert.ok(!isNews(before, probe(after, 20), 20), JSON.stringify(after));
    assert.ok(isNews(before, probe(after, 30), 30), JSON.stringify(after));
  }
  assert.ok(!isNews(probe({ lossPercent: 40 }), probe({ lossPercent: 80 }, 5), 5));
  assert.ok(!isNews(probe({ rttMs: rtt(0.1) }), probe({ rttMs: rtt(4) }, 5), 5), 'a few milliseconds are noise');
  assert.ok(!isNews(before, probe({}, 60), 60, 2000));
  assert.ok(!isNews(before, before, 3600), 'after a restart, before the first probe');
});
