import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pick, randomOf } from '../testing-random.ts';
import { networksBeyond } from './beyond.ts';
import { cidrContains, formatCidr, parseCidr, type Cidr } from './cidr.ts';
import type { Family } from './ip.ts';

const parsed = (texts: readonly string[]): readonly Cidr[] => texts.map((text) => parseCidr(text) as Cidr);
const beyond = (family: Family, ...texts: string[]): readonly string[] =>
  networksBeyond(parsed(texts), family).map(formatCidr);

describe('networksBeyond', () => {
  it('is everything but the networks of the family', () => {
    assert.deepEqual(beyond(4, '128.0.0.0/2', 'fd00::/8'), ['0.0.0.0/1', '192.0.0.0/2']);
    assert.deepEqual(beyond(6, '128.0.0.0/2', '8000::/2'), ['::/1', 'c000::/2']);
  });

  it('is two halves without a network, and nothing beyond all addresses', () => {
    assert.deepEqual(beyond(4), ['0.0.0.0/1', '128.0.0.0/1']);
    assert.deepEqual(beyond(6, '10.0.0.0/8'), ['::/1', '8000::/1']);
    assert.deepEqual(beyond(4, '0.0.0.0/0'), []);
  });

  it('has at most one network for each bit of each prefix', () => {
    assert.equal(beyond(4, '10.16.0.0/16').length, 16);
    assert.equal(beyond(6, 'fd00:10::/112', 'fd00:64::/112').length < 224, true);
  });

  it('and the networks together contain each address once', () => {
    const random = randomOf(7);
    for (let round = 0; round < 50; round += 1) {
      const own = parsed(
        Array.from(
          { length: 1 + random(5) },
          () => `${pick(random, [10, 11, 172])}.${random(4)}.0.0/${16 + random(2) * 8}`,
        ),
      );
      const others = networksBeyond(own, 4);
      for (let tries = 0; tries < 200; tries += 1) {
        const value = BigInt((pick(random, [10, 11, 172]) * 256 + random(5)) * 65536 + random(65536));
        const holding = others.filter((cidr) => cidrContains(cidr, { family: 4, value })).length;
        const isOwn = own.some((cidr) => cidrContains(cidr, { family: 4, value }));
        assert.equal(holding, isOwn ? 0 : 1);
      }
    }
  });
});
