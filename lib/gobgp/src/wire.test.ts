import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBytes, addressText, canonicalAddress } from './address.ts';
import { attributesFingerprint, encodeAttributes } from './attributes.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { canonicalPrefix, decodePrefix, encodePrefix } from './nlri.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('addresses have one spelling', () => {
  assert.equal(canonicalAddress('FD00:0:0::0001'), 'fd00::1');
  assert.equal(canonicalAddress('::'), '::');
  assert.equal(canonicalAddress('::ffff:10.0.0.1'), '::ffff:10.0.0.1');
  assert.equal(hex(addressBytes('2001:db8::1:2')), '20010db8000000000000000000010002');
  assert.equal(addressText(addressBytes('192.0.2.255')), '192.0.2.255');
  for (const bad of ['', 'n1', '10.0.0', '10.0.0.256', 'fe80::1%eth0', '1::2::3']) {
    assert.throws(() => addressBytes(bad), GobgpInvalidArgument, bad);
  }
});

test('NLRI carries only the bytes of the mask', () => {
  assert.equal(hex(encodePrefix('10.16.0.0/16')), '100a10');
  assert.equal(hex(encodePrefix('10.17.1.200/25')), '190a110180');
  assert.equal(hex(encodePrefix('0.0.0.0/0')), '00');
  assert.equal(hex(encodePrefix('fd00:10::/64')), '40fd00001000000000');
  assert.equal(canonicalPrefix('10.17.1.200/25'), '10.17.1.128/25');
  assert.equal(decodePrefix('ipv6-unicast', encodePrefix('FD00:10:0::/48')), 'fd00:10::/48');
  for (const bad of ['10.16.0.0', '10.16.0.0/33', 'fd00::/129', '10.16.0.0/-1', '/8']) {
    assert.throws(() => encodePrefix(bad), GobgpInvalidArgument, bad);
  }
  assert.throws(() => decodePrefix('ipv4-unicast', Uint8Array.of(33, 1, 2, 3, 4, 5)), GobgpInvalidArgument);
});

test('attributes are the bytes of RFC 4271, 1997, 4760 and 8092', () => {
  const v4 = encodeAttributes('ipv4-unicast', '10.16.0.0/16', {
    nextHop: '0.0.0.0',
    asPath: [65009],
    med: 5,
    localPref: 200,
    communities: ['65000:1', '100:2'],
    largeCommunities: ['4200000000:1:2'],
  });
  const expected = [
    '40010100',
    '400206 0201 0000fdf1',
    '40030400000000',
    '80040400000005',
    '400504000000c8',
    'c00808 00640002 fde80001',
    'c0200c fa56ea00 00000001 00000002',
  ];
  assert.deepEqual(
    v4.map(hex),
    expected.map((each) => each.replaceAll(' ', '')),
  );
  const [, , reach] = encodeAttributes('ipv6-unicast', 'fd00:10::/64', { nextHop: '::' });
  assert.equal(hex(reach ?? new Uint8Array()), `800e1e0002011${'0'.repeat(35)}40fd00001000000000`);
  assert.throws(
    () => encodeAttributes('ipv4-unicast', '10.0.0.0/8', { nextHop: '0.0.0.0', communities: ['70000:1'] }),
    GobgpInvalidArgument,
  );
});

test('a fingerprint ignores the order and the NLRI in MP_REACH, and nothing else', () => {
  const attributes = encodeAttributes('ipv6-unicast', 'fd00:10::/64', { nextHop: 'fd00::1', med: 5 });
  assert.equal(attributesFingerprint(attributes), attributesFingerprint(attributes.toReversed()));
  const other = encodeAttributes('ipv6-unicast', 'fd00:11::/64', { nextHop: 'fd00::1', med: 5 });
  assert.equal(attributesFingerprint(attributes), attributesFingerprint(other));
  const differs = encodeAttributes('ipv6-unicast', 'fd00:10::/64', { nextHop: 'fd00::2', med: 5 });
  assert.notEqual(attributesFingerprint(attributes), attributesFingerprint(differs));
});

test('a value above 255 bytes takes the extended length', () => {
  const communities = Array.from({ length: 70 }, (_, at) => `65000:${at}`);
  const long =
    encodeAttributes('ipv4-unicast', '10.0.0.0/8', { nextHop: '0.0.0.0', communities }).at(-1) ?? new Uint8Array();
  assert.equal(hex(long.subarray(0, 4)), 'd0080118');
});
