import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrsOverlap, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { randomOf } from '../../../lib/testing-random.ts';
import { TakenNetworks } from './taken-networks.ts';

function cidr(text: string): Cidr {
  const found = parseCidr(text);
  assert.ok(found);
  return found;
}

test('networks are held by the gateway that has a part of them, as a comparison with each says', () => {
  const random = randomOf(11);
  const some = (): Cidr => {
    const prefix = 22 + random(11);
    return random(3) === 0
      ? cidr(`fd00::${random(256).toString(16)}00/${prefix + 96}`)
      : cidr(`10.0.${random(16)}.${random(256)}/${prefix}`);
  };
  for (let run = 0; run < 200; run += 1) {
    const taken = new TakenNetworks();
    const all: { readonly key: string; readonly cidr: Cidr }[] = [];
    for (const key of ['a', 'b', 'c', 'd']) {
      const own = Array.from({ length: 3 }, some);
      for (const one of own) {
        const holders = all.filter((other) => cidrsOverlap(one, other.cidr)).map((other) => other.key);
        const holder = taken.holderOf(one);
        assert.equal(holder === undefined, holders.length === 0);
        assert.ok(holder === undefined || holders.includes(holder));
      }
      if (own.some((one) => taken.holderOf(one) !== undefined)) continue;
      taken.add(key, own);
      all.push(...own.map((one) => ({ key, cidr: one })));
    }
  }
});
