import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrCovers, formatCidr, parseCidr, type Cidr } from './cidr.ts';
import { enclosingNetworks } from './enclosing.ts';

const cidrs = (...texts: readonly string[]): readonly Cidr[] => texts.flatMap((text) => parseCidr(text) ?? []);
const texts = (all: readonly Cidr[]): readonly string[] => all.map(formatCidr);

test('the enclosing networks contain all prefixes, within the wanted number and no wider than needed', () => {
  const few = cidrs('10.1.0.0/24', '10.1.1.0/24', '10.9.0.0/16');
  assert.deepEqual(texts(enclosingNetworks(few, 3)), texts(few));
  assert.deepEqual(texts(enclosingNetworks(few, 2)), ['10.1.0.0/23', '10.9.0.0/16']);
  assert.deepEqual(texts(enclosingNetworks(few, 1)), ['10.0.0.0/12']);
  assert.deepEqual(enclosingNetworks([], 1), []);
});

test('each address family has its own networks', () => {
  const both = cidrs('10.1.0.0/24', '192.168.0.0/24', 'fd00:1::/64', 'fd00:2::/64');
  assert.deepEqual(texts(enclosingNetworks(both, 1)), ['0.0.0.0/0', 'fd00::/30']);
});

test('ten thousand prefixes fit the wanted number of networks', () => {
  const many = Array.from({ length: 10_000 }, (_, at) => `10.${at >> 8}.${at & 255}.0/24`);
  const all = cidrs(...many);
  const wide = enclosingNetworks(all, 64);
  assert.ok(wide.length <= 64);
  assert.ok(all.every((cidr) => wide.some((one) => cidrCovers(one, cidr))));
});
