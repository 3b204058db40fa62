import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIp } from './ip.ts';
import { unusableAs } from './router-address.ts';

const useOf = (text: string): string | undefined => {
  const ip = parseIp(text);
  assert.ok(ip, text);
  return unusableAs(ip);
};

test('addresses that no router can be reached at', () => {
  const unusable = {
    'an address of "this host"': ['0.0.0.0', '0.1.2.3'],
    'a loopback address': ['127.0.0.1', '127.255.255.254', '::1'],
    'a multicast address': ['224.0.0.1', '239.255.255.255', 'ff02::1'],
    'the broadcast address': ['255.255.255.255'],
    'a reserved address': ['240.0.0.1', '255.255.255.254'],
    'the unspecified address': ['::', '0:0:0:0:0:0:0:0'],
    'an IPv4 address as IPv6': ['::ffff:127.0.0.1', '::ffff:a00:1', '::10.0.0.1'],
    'a link-local address': ['fe80::1', 'febf::1'],
  };
  for (const [use, addresses] of Object.entries(unusable))
    for (const address of addresses) assert.equal(useOf(address), use, address);
});

test('addresses of routers', () => {
  const usable = ['1.0.0.1', '10.0.0.1', '126.0.0.1', '128.0.0.1', '169.254.0.1', '223.255.255.255', '100.64.0.1'];
  for (const address of [...usable, 'fd00::1', '2001:db8::1', 'fec0::1', '1::', '::1:0:0:0', '::1:ffff:0:0', 'fe8::1'])
    assert.equal(useOf(address), undefined, address);
});
