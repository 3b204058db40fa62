import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readDhcpOptions } from './dhcp-options.ts';
import { readOptionTexts } from './option-text.ts';

describe('texts of options', () => {
  for (const [text, values, problems] of [
    ['', {}, 0],
    ['a=1, b = x y ', { a: '1', b: 'x y' }, 0],
    ['a={1,2},b="x,y"', { a: '{1,2}', b: '"x,y"' }, 0],
    ['a=b=c', { a: 'b=c' }, 0],
    ['a,b=,=c,,d=1', { d: '1' }, 4],
    ['a=1,a=2', { a: '1' }, 1],
    ['a={1,2', { a: '{1,2' }, 0],
  ] as const) {
    test(`'${text}'`, () => {
      const read = readOptionTexts(text);
      assert.deepEqual(Object.fromEntries(read.values), values);
      assert.equal(read.problems.length, problems);
    });
  }
});

describe('options of DHCP', () => {
  const rendered = (family: 4 | 6, text: string): string | undefined => {
    const { options, problems } = readDhcpOptions(family, text, {}, 'field');
    assert.equal(Object.keys(options).length + problems.length, 1);
    return Object.values(options)[0];
  };
  for (const [family, text, expected] of [
    [4, 'dns_server=8.8.8.8', '8.8.8.8'],
    [4, 'dns_server=8.8.8.8;1.1.1.1', '{8.8.8.8,1.1.1.1}'],
    [4, 'dns_server={8.8.8.8, 1.1.1.1}', '{8.8.8.8,1.1.1.1}'],
    [4, 'dns_server=fd00::1', undefined],
    [4, 'dns_server={}', undefined],
    [4, 'server_id={1.1.1.1,2.2.2.2}', undefined],
    [4, 'server_mac=00:00:00:11:22:33', '00:00:00:11:22:33'],
    [4, 'server_mac=01:00:00:11:22:33', undefined],
    [4, 'lease_time=4294967295', '4294967295'],
    [4, 'lease_time=4294967296', undefined],
    [4, 'lease_time=1h', undefined],
    [4, 'ip_forward_enable=1', '1'],
    [4, 'ip_forward_enable=true', undefined],
    [4, 'mtu=67', undefined],
    [4, 'domain_name=example.org', '"example.org"'],
    [4, 'domain_name="example.org"', '"example.org"'],
    [4, 'domain_name="a"b"', undefined],
    [4, 'wpad=http://x/?a=1', '"http://x/?a=1"'],
    [4, 'wpad=a\\', undefined],
    [4, 'domain_search_list=a.org;b.org', '"a.org,b.org"'],
    [4, 'domain_search_list=a..org', undefined],
    [4, 'tftp_server=10.0.0.1', '10.0.0.1'],
    [4, 'tftp_server=boot.example.org', '"boot.example.org"'],
    [
      4,
      'classless_static_route={30.0.0.0/24,10.0.0.10,0.0.0.0/0,10.0.0.1}',
      '{30.0.0.0/24,10.0.0.10,0.0.0.0/0,10.0.0.1}',
    ],
    [4, 'classless_static_route={30.0.0.0/24}', undefined],
    [4, 'constructor=1', undefined],
    [4, 'offerip=10.0.0.1', undefined],
    [6, 'dns_server=fd00::1', 'fd00::1'],
    [6, 'lease_time=60', undefined],
    [6, 'dhcpv6_stateless=true', 'true'],
  ] as const) {
    test(`v${family} ${text}`, () => assert.equal(rendered(family, text), expected));
  }

  test('options that are not named keep their value, as do invalid ones', () => {
    const { options, problems } = readDhcpOptions(
      4,
      'lease_time=60,mtu=big',
      { lease_time: '1', mtu: '2' },
      'annotation x',
    );
    assert.deepEqual(options, { lease_time: '60', mtu: '2' });
    assert.deepEqual(problems, ['annotation x: mtu=big has a value that OVN does not accept: correct it']);
  });
});
