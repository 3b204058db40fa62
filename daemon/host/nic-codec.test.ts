import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NicAddress, NicRoute } from '../model/nic.ts';
import { encodeNicAddress, encodeNicRoute, readNicAddress, readNicRoute } from './nic-codec.ts';

const addresses: readonly NicAddress[] = [
  { address: '10.20.0.11', prefix: 24, broadcast: '10.20.0.255', scope: 0 },
  { address: '10.9.0.1', prefix: 32, peer: '10.9.0.2', scope: 0, isRouteless: true },
  { address: 'fd00:20::11', prefix: 64, scope: 0, metric: 300 },
  { address: 'fd00:20::12', prefix: 64, scope: 0, isDeprecated: true },
  { address: '169.254.7.1', prefix: 16, scope: 253 },
];
const routes: readonly NicRoute[] = [
  {
    destination: '0.0.0.0/0',
    gateway: '10.20.0.1',
    source: '10.20.0.12',
    table: 254,
    protocol: 4,
    scope: 0,
    tos: 0,
    metric: 100,
  },
  { destination: '10.21.0.0/16', table: 1000, protocol: 2, scope: 253, tos: 16 },
  { destination: '203.0.113.1/32', gateway: '10.99.0.1', table: 254, protocol: 3, scope: 0, tos: 0, isOnlink: true },
  {
    destination: '::/0',
    gateway: 'fd00:20::1',
    table: 254,
    protocol: 9,
    scope: 0,
    tos: 0,
    metric: 1024,
    extras: { 20: '01' },
  },
  {
    destination: '198.51.100.0/24',
    gateway: '10.20.0.1',
    table: 254,
    protocol: 42,
    scope: 0,
    tos: 0,
    extras: { 8: '0800020078050000' },
  },
];

test('addresses and routes are read as they were written, with all that distinguishes them', () => {
  for (const address of addresses)
    assert.deepEqual(readNicAddress(Buffer.concat(encodeNicAddress(7, address))), [{ index: 7, address }]);
  for (const route of routes)
    assert.deepEqual(readNicRoute(Buffer.concat(encodeNicRoute(7, route))), [{ index: 7, route }]);
});

test('link-local addresses, and routes that the kernel creates, do not move', () => {
  const linkLocal = { address: 'fe80::1', prefix: 64, scope: 253 };
  assert.deepEqual(readNicAddress(Buffer.concat(encodeNicAddress(7, linkLocal))), []);
  for (const destination of ['fe80::/64', 'ff00::/8'])
    assert.deepEqual(readNicRoute(Buffer.concat(encodeNicRoute(7, { ...routes[3]!, destination }))), []);
  assert.deepEqual(readNicRoute(Buffer.concat(encodeNicRoute(7, { ...routes[0]!, table: 255 }))), []);
});
