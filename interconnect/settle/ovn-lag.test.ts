import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OvnLag } from './ovn-lag.ts';

const gateways = ['a1', 'a2'];
const taken = (wanted: number, northd: number, a1: number, a2 = a1) => ({
  wanted,
  northd,
  chassis: new Map([
    ['a1', a1],
    ['a2', a2],
  ]),
});

describe('the lag of OVN’s programs', () => {
  it('a program that answers a request in time is not behind', () => {
    const liveGateways = new OvnLag();
    liveGateways.asked(1, 0);
    assert.ok(liveGateways.isAwaited);
    liveGateways.see(taken(1, 1, 0), gateways, 100);
    assert.equal(liveGateways.isAwaited, false);
    liveGateways.see(taken(1, 1, 1), gateways, 200);
    assert.equal(liveGateways.northdBehindMs(60_000), undefined);
    assert.equal(liveGateways.chassisBehindMs(60_000).size, 0);
  });

  it('northd is behind since the first request that it has not answered', () => {
    const liveGateways = new OvnLag();
    liveGateways.asked(1, 0);
    liveGateways.see(taken(1, 0, 0), gateways, 4900);
    assert.equal(liveGateways.northdBehindMs(4900), undefined);
    assert.equal(liveGateways.northdBehindMs(5000), 0);
    liveGateways.see(taken(1, 1, 0), gateways, 6000);
    assert.equal(liveGateways.northdBehindMs(6000), undefined);
  });

  it('an ovn-controller is behind since it stopped, although newer requests follow; a slow one is not behind', () => {
    const liveGateways = new OvnLag();
    for (let number = 1; number <= 5; number += 1) {
      const nowMs = number * 3000;
      liveGateways.asked(number, nowMs);
      // a1 stopped at 1; a2 is one behind.
      liveGateways.see(taken(number, number, 1, number - 1), gateways, nowMs + 100);
      liveGateways.see(taken(number, number, 1, number), gateways, nowMs + 2900);
    }
    assert.deepEqual([...liveGateways.chassisBehindMs(18_000)], [['a1', 6100]]);
    liveGateways.see(taken(5, 5, 1), ['a2'], 18_000);
    assert.equal(liveGateways.chassisBehindMs(60_000).has('a1'), false, 'it is not a gateway that counts any more');
  });

  it('the limit grows for a northd that is slow repeatedly, not for one that stalled once', () => {
    const liveGateways = new OvnLag();
    let nowMs = 0;
    const tooks = [9000, 4000, 5000, 20].map((tookMs, index) => {
      liveGateways.asked(index + 1, nowMs);
      nowMs += tookMs;
      liveGateways.see(taken(index + 1, index + 1, index + 1), gateways, nowMs);
      return liveGateways.tookMs;
    });
    assert.deepEqual(tooks, [100, 100, 4000, 20]);
    const slow = new OvnLag();
    for (const number of [1, 2, 3]) {
      slow.asked(number, 0);
      slow.see(taken(number, number, number), gateways, 4000);
    }
    slow.asked(4, 10_000);
    assert.equal(slow.northdBehindMs(21_900), undefined);
    assert.equal(slow.northdBehindMs(22_000), 10_000);
  });

  it('requests to a database that was replaced are forgotten', () => {
    const liveGateways = new OvnLag();
    liveGateways.asked(7, 0);
    liveGateways.see(taken(0, 0, 0), gateways, 100);
    assert.equal(liveGateways.northdBehindMs(60_000), undefined);
    assert.equal(liveGateways.isAwaited, false);
  });
});
