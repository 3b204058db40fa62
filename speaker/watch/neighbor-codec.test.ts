import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnyAddress, readNeighbor, readOwnAddress } from './neighbor-codec.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

// Recorded from an x86 kernel.
const router =
  '0a000000 02000000 0200 80 01 14000100fe80000000000000ac92c4fffeaff94f 0a000200ae92c4aff94f0000 0800040001000000';
const stale =
  '0a000000 02000000 0400 00 01 14000100fe800000000000009850d6fffe85941c 0a0002009a50d685941c0000 0800040000000000';
const group = '0a000000 02000000 4000 00 05 14000100ff020000000000000000000000000002 0a0002003333000000020000';
const failed = '0a000000 02000000 2000 80 01 14000100fe80000000000000000000000000000b';
const address =
  '0a4080fd 02000000 14000100fe800000000000009850d6fffe85941c 14000600ffffffffffffffff43465c0043465c00 0800080080000000';

test('neighbours are read with their state in the kernel', () => {
  assert.deepEqual(readNeighbor(bytes(router)), [
    { index: 2, address: 'fe80::ac92:c4ff:feaf:f94f', isRouter: true, isThere: true },
  ]);
  const [other] = readNeighbor(bytes(stale));
  assert.deepEqual([other?.isRouter, other?.isThere], [false, true]);
  assert.equal(readNeighbor(bytes(group))[0]?.isThere, false, 'a multicast group is not a neighbour');
  assert.equal(readNeighbor(bytes(failed))[0]?.isThere, false);
  assert.deepEqual(readNeighbor(bytes(`02${stale.slice(2)}`)), [], 'IPv4');
  const own = { index: 2, address: 'fe80::9850:d6ff:fe85:941c', isReady: true };
  assert.deepEqual(readOwnAddress(bytes(address)), [own]);
  assert.deepEqual(
    readOwnAddress(bytes(address.replace('0a4080', '0a40c0'))),
    [{ ...own, isReady: false }],
    'tentative',
  );
});

// 172.31.1.77/24 of a veth, and a tunnel from 10.0.0.1 (local) to 10.0.0.2.
const address4 = '02180080 02000000 08000100ac1f014d 08000200ac1f014d';
const tunnel4 = '02200080 05000000 080001000a000002 080002000a000001';

test('own addresses are those of this end, of either family, once they can be used', () => {
  assert.deepEqual(readAnyAddress(bytes(address4)), ['172.31.1.77']);
  assert.deepEqual(readAnyAddress(bytes(tunnel4)), ['10.0.0.1']);
  assert.deepEqual(readAnyAddress(bytes(address)), ['fe80::9850:d6ff:fe85:941c']);
  assert.deepEqual(readAnyAddress(bytes(address.replace('0a4080', '0a40c0'))), []);
});
