import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Cut } from './cuts.ts';
import { reachableOrder } from './reachable-order.ts';

const cut = (a: string, b: string, sinceMs = 0): Cut => ({ pair: [a, b], sinceMs });
const orderOf = (
  members: string,
  cuts: readonly Cut[],
  { present = members, holder = members[0] ?? '', nowMs = 10_000 } = {},
) => {
  const { order, wakeMs } = reachableOrder(members.split(''), { order: present.split(''), holder }, { cuts, nowMs });
  return wakeMs === undefined ? order.join('') : `${order.join('')} ${wakeMs}`;
};

describe('an order of gateways', () => {
  it('contains the anchor and the gateways that hear it and each other', () => {
    assert.equal(orderOf('abc', []), 'abc');
    assert.equal(orderOf('abc', [cut('a', 'b')]), 'ac');
    assert.equal(orderOf('bac', [cut('a', 'b')]), 'bc');
    assert.equal(
      orderOf('abc', [cut('b', 'c')]),
      'ab',
      'else they would take it from one another when the anchor dies',
    );
    assert.equal(orderOf('abcd', [cut('a', 'b'), cut('c', 'd')]), 'ac');
    assert.equal(orderOf('ab', [cut('a', 'b')]), 'a');
  });
  it('loses a gateway that is cut off while the anchor has the port, or after a second in any case', () => {
    const cuts = [cut('a', 'b', 9500)];
    assert.equal(orderOf('ab', cuts, { holder: 'b' }), 'ab 10500');
    assert.equal(orderOf('ab', cuts, { holder: 'b', nowMs: 10_500 }), 'a');
    assert.equal(orderOf('ab', cuts, { holder: 'a' }), 'a');
  });
  it('neither loses nor gains a gateway while a cut is uncertain', () => {
    const cuts: readonly Cut[] = [{ pair: ['a', 'b'], sinceMs: undefined }];
    assert.equal(orderOf('ab', cuts), 'ab');
    assert.equal(orderOf('ab', cuts, { present: 'a' }), 'a');
    assert.equal(orderOf('ab', cuts, { present: '' }), 'ab', 'a new port is made whole');
  });
});
