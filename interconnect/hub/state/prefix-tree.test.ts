import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrCovers, cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { type Random, randomOf } from '../../../lib/testing-random.ts';
import { PrefixTree } from './prefix-tree.ts';

/** Few different ones, so that many overlap. */
function someCidr(next: Random): Cidr {
  const text =
    next(3) === 0
      ? `fd00:${next(4).toString(16)}::${next(4).toString(16)}/${[0, 16, 32, 64, 128][next(5)]}`
      : `10.${next(4)}.${next(4) * 64}.${next(2)}/${[0, 8, 14, 16, 18, 24, 32][next(7)]}`;
  const cidr = parseCidr(text);
  assert.ok(cidr, text);
  return cidr;
}

test('the tree finds an overlap exactly when a scan of all prefixes finds one', () => {
  const next = randomOf(7);
  const tree = new PrefixTree();
  let held: { readonly cidr: Cidr; readonly holder: string }[] = [];
  let found = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const [cidr, holder] = [someCidr(next), `m${next(5)}`];
    const action = next(4);
    if (action === 0 && held.length < 12) {
      tree.add(cidr, holder);
      held.push({ cidr, holder });
    } else if (action === 1) {
      const at = held.findIndex((one) => one.holder === holder && formatCidr(one.cidr) === formatCidr(cidr));
      tree.remove(cidr, holder);
      held = held.filter((_, index) => index !== at);
    }
    const others = held.filter((one) => one.holder !== holder && cidrsOverlap(one.cidr, cidr));
    const above = others.filter((one) => cidrCovers(one.cidr, cidr));
    const cover = tree.covering(cidr, (one) => one !== holder);
    assert.equal(cover?.cidr.prefix, above.map((one) => one.cidr.prefix).toSorted((a, b) => a - b)[0]);
    assert.ok(cover === undefined || above.some((one) => one.holder === cover.holder));
    const answer = tree.overlapping(cidr, (one) => one !== holder);
    assert.equal(answer === undefined, others.length === 0, formatCidr(cidr));
    if (answer === undefined) continue;
    found += 1;
    const isHeld = others.some(
      (one) => one.holder === answer.holder && formatCidr(one.cidr) === formatCidr(answer.cidr),
    );
    assert.ok(isHeld, `${formatCidr(answer.cidr)} of ${answer.holder} for ${formatCidr(cidr)}`);
  }
  assert.ok(found > 1000, 'most of it was tried');
});
