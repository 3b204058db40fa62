import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cidrsOverlap, formatCidr, type Cidr } from './cidr.ts';
import { PrefixIndex } from './prefix-index.ts';

interface Held {
  readonly cidr: Cidr;
  readonly holder: string;
}

/** Repeatable. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describe('the index of prefixes', () => {
  it('finds the same prefixes as a scan of all while prefixes are added and removed', () => {
    const random = randomFrom(7);
    const index = new PrefixIndex<Held>();
    let held: Held[] = [];
    const prefixOf = (): Cidr => {
      const prefix = 20 + Math.floor(random() * 13);
      const hostBits = BigInt(32 - prefix);
      const address = BigInt(0x0a_00_00_00) + BigInt(Math.floor(random() * 8192));
      return { family: 4, network: (address >> hostBits) << hostBits, prefix };
    };
    for (let round = 0; round < 3000; round += 1) {
      const one = held[Math.floor(random() * held.length * 3)];
      if (one === undefined) {
        const added = { cidr: prefixOf(), holder: `c${Math.floor(random() * 5)}` };
        index.add(added);
        held.push(added);
      } else {
        index.remove(one);
        held = held.filter((other) => other !== one);
      }
      const asked = prefixOf();
      const expected = held.filter((other) => cidrsOverlap(other.cidr, asked));
      const found = [...index.allOverlapping(asked)];
      assert.equal(found.length, expected.length, formatCidr(asked));
      assert.deepEqual(new Set(found), new Set(expected));
    }
  });
});
