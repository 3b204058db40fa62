import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCidr } from './cidr.ts';
import { specialUse } from './special-use.ts';

test('a special-use prefix has a name, an ordinary prefix has none', () => {
  const use = (text: string): string | undefined => {
    const cidr = parseCidr(text);
    assert.ok(cidr, text);
    return specialUse(cidr);
  };
  assert.deepEqual(
    [
      '0.0.0.0/0',
      '127.0.0.0/8',
      '127.1.2.3/32',
      '126.0.0.0/7',
      '224.0.0.0/4',
      '239.1.0.0/16',
      '169.254.1.0/24',
      '::/0',
    ].map(use),
    ['everything', 'loopback', 'loopback', 'loopback', 'multicast', 'multicast', 'one link', 'everything'],
  );
  assert.deepEqual(['fe80::/64', 'ff02::/16', '::1/128'].map(use), ['one link', 'multicast', 'this host']);
  for (const text of ['10.0.0.0/8', '100.64.0.0/16', '172.30.0.0/24', '192.0.2.0/24', 'fd00::/8', '2001:db8::/32'])
    assert.equal(use(text), undefined, text);
});
