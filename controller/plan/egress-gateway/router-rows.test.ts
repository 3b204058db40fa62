import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { EgressNetwork } from '../../model/egress-gateway.ts';
import { translatedOf, withoutCidrs } from './router-rows.ts';

function cidr(text: string): Cidr {
  const found = parseCidr(text);
  assert.ok(found);
  return found;
}

function networks(...texts: readonly string[]): readonly EgressNetwork[] {
  return texts.map((text) => ({
    family: text.includes(':') ? 6 : 4,
    cidr: text.replace('!', ''),
    isTranslated: !text.startsWith('!'),
  }));
}

describe('the networks that a gateway translates', () => {
  test('are all parts of a network but those taken out', () => {
    const parts = withoutCidrs(cidr('10.0.0.0/22'), [cidr('10.0.1.0/24'), cidr('10.0.2.128/25'), cidr('10.9.0.0/16')]);
    assert.deepEqual(parts.map(formatCidr), ['10.0.0.0/24', '10.0.2.0/25', '10.0.3.0/24']);
    assert.deepEqual(withoutCidrs(cidr('10.0.1.0/24'), [cidr('10.0.0.0/16')]), []);
    assert.equal(withoutCidrs(cidr('::/0'), [cidr('fd00::1/128')]).length, 128);
  });

  test('are all, if it selects pods, but those of policies without snat; the longest prefix decides', () => {
    const of = (hasSelectors: boolean, ...texts: readonly string[]): readonly string[] =>
      translatedOf({ networks: networks(...texts), hasSelectors }, 4);
    assert.deepEqual(of(true), ['0.0.0.0/0']);
    assert.deepEqual(of(false, '10.1.0.0/16', 'fd00::/64'), ['10.1.0.0/16']);
    assert.deepEqual(of(false, '10.1.0.0/24', '!10.1.0.0/25'), ['10.1.0.128/25']);
    assert.deepEqual(of(false, '!10.1.0.0/24', '10.1.0.0/25'), ['10.1.0.0/25']);
    const rest = of(true, '!10.0.0.0/8', '10.1.0.0/16');
    assert.equal(rest.length, 9);
    assert.ok(rest.includes('10.1.0.0/16') && rest.includes('128.0.0.0/1') && !rest.includes('0.0.0.0/0'));
  });
});
