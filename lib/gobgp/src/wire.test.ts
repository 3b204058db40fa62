import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBytes, addressText, canonicalAddress, canonicalNeighbor } from './address.ts';
import {
  attributesFingerprint,
  decodeAttributes,
  type DecodedAttributes,
  encodeAttributes,
  fingerprintOf,
  type PathAttributes,
} from './attributes.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { canonicalPrefix, decodePrefix, encodePrefix, type UnicastFamily } from './nlri.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const encodeFor = (family: UnicastFamily, prefix: string, attributes: PathAttributes) =>
  encodeAttributes(family, encodePrefix(prefix), attributes);

test('an address is formatted in its canonical form', () => {
  assert.equal(canonicalAddress('FD00:0:0::0001'), 'fd00::1');
  assert.equal(canonicalAddress('::'), '::');
  assert.equal(canonicalAddress('::ffff:10.0.0.1'), '::ffff:10.0.0.1');
  assert.equal(hex(addressBytes('2001:db8::1:2')), '20010db8000000000000000000010002');
  assert.equal(addressText(addressBytes('192.0.2.255')), '192.0.2.255');
  for (const bad of ['', 'n1', '10.0.0', '10.0.0.256', 'fe80::1%eth0', '1::2::3']) {
    assert.throws(() => addressBytes(bad), GobgpInvalidArgument, bad);
  }
});

test('only the address of a link-local neighbour has an interface', () => {
  assert.equal(canonicalNeighbor('FE80:0::1%eth1.100'), 'fe80::1%eth1.100');
  assert.equal(canonicalNeighbor('10.0.0.1'), '10.0.0.1');
  for (const bad of ['fe80::1%', 'fe80::1%eth1/2', 'fe80::1%sixteen-letters-', 'fd00::1%eth1', '10.0.0.1%eth1']) {
    assert.throws(() => canonicalNeighbor(bad), GobgpInvalidArgument, bad);
  }
});

test('an NLRI has only the bytes that its prefix length covers', () => {
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

test('attributes are encoded as in RFC 4271, 1997, 4760 and 8092', () => {
  const v4 = encodeFor('ipv4-unicast', '10.16.0.0/16', {
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
  const [, , reach] = encodeFor('ipv6-unicast', 'fd00:10::/64', { nextHop: '::' });
  assert.equal(hex(reach ?? new Uint8Array()), `800e1e0002011${'0'.repeat(35)}40fd00001000000000`);
  assert.throws(
    () => encodeFor('ipv4-unicast', '10.0.0.0/8', { nextHop: '0.0.0.0', communities: ['70000:1'] }),
    GobgpInvalidArgument,
  );
});

test('a fingerprint depends on all attributes, but not on their order or on the NLRI in MP_REACH', () => {
  const attributes = encodeFor('ipv6-unicast', 'fd00:10::/64', { nextHop: 'fd00::1', med: 5 });
  assert.equal(attributesFingerprint(attributes), attributesFingerprint(attributes.toReversed()));
  const other = encodeFor('ipv6-unicast', 'fd00:11::/64', { nextHop: 'fd00::1', med: 5 });
  assert.equal(attributesFingerprint(attributes), attributesFingerprint(other));
  const differs = encodeFor('ipv6-unicast', 'fd00:10::/64', { nextHop: 'fd00::2', med: 5 });
  assert.notEqual(attributesFingerprint(attributes), attributesFingerprint(differs));
});

test('an attribute longer than 255 bytes has an extended length', () => {
  const communities = Array.from({ length: 70 }, (_, at) => `65000:${at}`);
  const long = encodeFor('ipv4-unicast', '10.0.0.0/8', { nextHop: '0.0.0.0', communities }).at(-1) ?? new Uint8Array();
  assert.equal(hex(long.subarray(0, 4)), 'd0080118');
});

test('attributes decode to the values from which they were encoded', () => {
  const all: DecodedAttributes = {
    nextHop: '10.0.0.9',
    asPath: [65009, 4200000000],
    origin: 'incomplete',
    med: 0,
    localPref: 4294967295,
    communities: ['100:2', '65535:65281'],
    largeCommunities: ['1:2:3', '4294967295:0:1'],
  };
  const none: DecodedAttributes = {
    nextHop: '10.0.0.9',
    asPath: [],
    origin: 'igp',
    communities: [],
    largeCommunities: [],
  };
  const long = {
    ...all,
    asPath: Array.from({ length: 600 }, (_, at) => 4200000000 + at),
    communities: Array.from({ length: 70 }, (_, at) => `65000:${at}`),
    largeCommunities: Array.from({ length: 30 }, (_, at) => `65000:1:${at}`),
  };
  for (const attributes of [all, none, long]) {
    assert.deepEqual(decodeAttributes(encodeFor('ipv4-unicast', '10.0.0.0/8', attributes)), attributes);
    for (const [family, prefix] of [
      ['ipv6-unicast', 'fd00:10::/64'],
      ['ipv4-unicast', '10.0.0.0/8'],
    ] as const) {
      const viaV6 = { ...attributes, nextHop: 'fd00::9' };
      assert.deepEqual(decodeAttributes(encodeFor(family, prefix, viaV6)), viaV6);
    }
  }
});

test('AS_SETs, link-local next hops and unknown attributes are decoded as far as the types can express them', () => {
  const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
  const decoded = decodeAttributes([
    bytes('400101 02'),
    bytes('5002 0014 0202 0000fde9 fa56ea00 0102 0000fdeb 0000fdec'),
    bytes(`800e2e 000201 20 ${'fd00'.padEnd(31, '0')}1 ${'fe80'.padEnd(31, '0')}2 00 40fd00001000000000`),
    bytes('e07f02 beef'),
  ]);
  assert.deepEqual(decoded, {
    nextHop: 'fd00::1',
    asPath: [65001, 4200000000, 65003, 65004],
    origin: 'incomplete',
    communities: [],
    largeCommunities: [],
  });
  assert.deepEqual(decodeAttributes([]), { nextHop: '', asPath: [], communities: [], largeCommunities: [] });
});

test('attributes of several paths are encoded once, and MP_REACH still has the prefix of each path', () => {
  const attributes = { nextHop: '10.0.0.9', communities: ['1:2'] };
  const [first] = encodeFor('ipv4-unicast', '10.1.0.0/16', attributes);
  const [second] = encodeFor('ipv4-unicast', '10.2.0.0/16', { ...attributes });
  assert.equal(first, second);
  const reach = (prefix: string) => hex(encodeFor('ipv6-unicast', prefix, { nextHop: '::' })[2] ?? new Uint8Array());
  assert.match(reach('fd01::/16'), /10fd01$/);
  assert.match(reach('fd02::/16'), /10fd02$/);
  for (let at = 0; at < 2000; at++) encodeFor('ipv4-unicast', '10.1.0.0/16', { ...attributes, med: at });
  assert.equal(
    fingerprintOf('ipv6-unicast', { nextHop: 'fd00::1', med: 5 }),
    attributesFingerprint(encodeFor('ipv6-unicast', 'fd00:10::/64', { nextHop: 'fd00::1', med: 5 })),
  );
});
