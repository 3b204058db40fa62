import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DropLimits } from './drop-limits.ts';

describe('limits of events about drops', () => {
  it('allow a pair of pod and peer a few, and again later', () => {
    const limits = new DropLimits(0);
    const taken = Array.from({ length: 10 }, () => limits.take('web', '10.16.0.7', 0));
    assert.equal(taken.filter(Boolean).length, 2);
    assert.equal(limits.take('web', '10.16.0.7', 59_000), false);
    assert.equal(limits.take('web', '10.16.0.7', 61_000), true);
  });

  it('allow a pod no more for peers that a sender invents', () => {
    const limits = new DropLimits(0);
    let taken = 0;
    for (let peer = 0; peer < 100_000; peer += 1) if (limits.take('web', `fd00::${peer.toString(16)}`, 0)) taken += 1;
    assert.equal(taken, 5);
    assert.equal(limits.take('db', '10.16.0.7', 0), true);
  });

  it('allow a node no more for many pods', () => {
    const limits = new DropLimits(0);
    let taken = 0;
    for (let second = 0; second < 3600; second += 1)
      for (let pod = 0; pod < 100; pod += 1) if (limits.take(`p${pod}`, 'peer', 1000 * second)) taken += 1;
    assert.ok(taken > 190 && taken <= 20 + 3600 / 20, String(taken));
  });
});
