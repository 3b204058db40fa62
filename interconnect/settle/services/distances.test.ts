import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Distances, groupsOf } from './distances.ts';

/** Takes measurements one after the other. @returns the time that counts after each */
function after(distances: Distances, times: readonly (number | undefined)[], published?: number): unknown[] {
  return times.map((rttMs, at) => {
    distances.take('west', rttMs === undefined ? undefined : { rttMs, at: `${rttMs} ${at}` }, published);
    return distances.of('west');
  });
}

describe('the distance of a cluster', () => {
  it('is the first measurement, and changes after three in a row on the same side', () => {
    assert.deepEqual(after(new Distances(), [undefined, 10.04, 12, 30, 31, 29, 30]), [
      undefined,
      10,
      10,
      10,
      10,
      30,
      30,
    ]);
    assert.deepEqual(
      after(new Distances(), [10, 30, 30, 10, 30, 30, 3, 3, 30, 3]),
      Array(10).fill(10),
      'it does not flap',
    );
    assert.deepEqual(after(new Distances(), [100, 20, 5, 10]), [100, 100, 100, 10], 'the median counts');
  });

  it('ignores differences of less than a millisecond or a third', () => {
    assert.deepEqual(after(new Distances(), [0.3, 1.2, 1.2, 1.2, 1.2]), Array(5).fill(0.3));
    assert.deepEqual(after(new Distances(), [100, 129, 129, 129, 80, 80, 80]), Array(7).fill(100));
  });

  it('counts a measurement once, and stays while there is none', () => {
    const distances = new Distances();
    const take = (rttMs: number, at: string) => distances.take('west', { rttMs, at }, undefined);
    assert.equal(take(10, 'a'), true);
    for (let times = 0; times < 5; times += 1) assert.equal(take(90, 'b'), false);
    assert.equal(distances.take('west', undefined, undefined), false);
    assert.equal(distances.of('west'), 10);
  });

  it('is what was published before a restart', () => {
    assert.deepEqual(after(new Distances(), [11, 30, 30], 10), [10, 10, 10]);
    const restarted = new Distances();
    assert.equal(restarted.take('west', undefined, 10), true);
    assert.equal(restarted.of('west'), 10);
  });
});

describe('groups of clusters', () => {
  const times: Readonly<Record<string, number>> = { a: 50, b: 10, c: 13.5, d: 14.5, e: 50 };
  it('are ordered by time, by name where it is equal, and last without one', () => {
    assert.deepEqual(
      groupsOf(['x', 'e', 'd', 'c', 'b', 'a', 'w'], (name) => times[name]),
      [['b', 'c'], ['d'], ['a', 'e'], ['w', 'x']],
    );
    assert.deepEqual(
      groupsOf([], () => 1),
      [],
    );
  });
});
