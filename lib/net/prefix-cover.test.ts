import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrCovers, parseCidr, type Cidr } from './cidr.ts';
import { PrefixCover } from './prefix-cover.ts';

const cidr = (text: string): Cidr => parseCidr(text) ?? assert.fail(text);

test('a prefix is covered by prefixes that contain all of its addresses', () => {
  const cover = new PrefixCover();
  const networks = ['10.16.0.0/16', '10.16.3.0/24', '192.0.2.1/32', '0.0.0.0/1', 'fd00:16::/64', '::/0'];
  for (const text of networks) cover.add(cidr(text), text);
  cover.add(cidr('10.16.0.0/16'), 'a second one');
  const prefixes = [
    '10.16.0.0/16',
    '10.16.9.0/24',
    '10.0.0.0/8',
    '0.0.0.0/0',
    '192.0.2.1/32',
    '192.0.2.0/31',
    '128.0.0.0/1',
  ];
  for (const text of [...prefixes, 'fd00:16::1/128', 'fd00::/16']) {
    const found = cover.coverOf(cidr(text));
    const expected = networks.filter((network) => cidrCovers(cidr(network), cidr(text)));
    assert.equal(found !== undefined, expected.length > 0, text);
    assert.ok(found === undefined || expected.includes(found), `${text} in ${found}`);
  }
});
