/** Objects that are older than the rules of their CRD: they are judged again where they are read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectProblem } from '../peers.ts';
import { instanceOf, stateOf } from '../testing.ts';
import { parseNode } from './node.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from './own-kinds.ts';

const raw = (spec: object) => ({ metadata: { name: 'x', uid: 'u', resourceVersion: '1' }, spec });
const codeOf = (spec: { readonly value: unknown } | { readonly problem: { readonly code: string } }) =>
  'problem' in spec ? spec.problem.code : 'accepted';

test('a next hop that routers refuse or end the session for is refused', () => {
  const of = (nextHop: object) =>
    codeOf(parseBgpAdvertisement(raw({ source: 'Subnet', attributes: { nextHop } })).spec);
  const bad4 = ['127.0.0.1', '224.0.0.1', '0.0.0.0', '0.1.2.3', '240.0.0.1', '255.255.255.255', 'fd00::1', 'x'];
  for (const ipv4 of bad4) assert.equal(of({ ipv4 }), 'NextHopInvalid', ipv4);
  const bad6 = ['::', '0:0:0:0:0:0:0:0', '::1', 'ff02::1', 'fe80::1', '::ffff:127.0.0.1', '::ffff:a00:1', '10.0.0.1'];
  for (const ipv6 of bad6) assert.equal(of({ ipv6 }), 'NextHopInvalid', ipv6);
  assert.equal(of({ ipv4: '10.0.0.1', ipv6: 'fd00::1' }), 'accepted');
  assert.equal(of({ ipv4: '169.254.10.1' }), 'accepted');
});

test('communities that no path can have are refused', () => {
  const of = (communities: object) =>
    codeOf(parseBgpAdvertisement(raw({ source: 'Subnet', attributes: { communities } })).spec);
  for (const bad of [
    { standard: ['65536:1'] },
    { standard: ['65535:6'] },
    { large: ['4294967296:1:1'] },
    { large: ['4294967295:1:1'] },
    { extended: ['rt:65001:1'] },
  ])
    assert.equal(of(bad), 'CommunityInvalid', JSON.stringify(bad));
  assert.equal(of({ standard: ['0:65101', '65535:666'], large: ['0:0:0'] }), 'accepted');
});

test('reserved AS numbers are refused, local and remote', () => {
  for (const asn of [23456, 65535, 4294967295]) {
    assert.equal(codeOf(parseBgpInstance(raw({ localASN: asn })).spec), 'AsnInvalid');
    const peer = { instance: 'rack', address: '10.0.0.254', asn: 65001 };
    assert.equal(codeOf(parseBgpPeer(raw({ ...peer, asn })).spec), 'AsnInvalid');
    assert.equal(codeOf(parseBgpPeer(raw({ ...peer, localASN: asn })).spec), 'AsnInvalid');
  }
  assert.equal(codeOf(parseBgpInstance(raw({ localASN: 0 })).spec), 'InvalidSpec');
  assert.equal(codeOf(parseBgpInstance(raw({ localASN: 64512 })).spec), 'accepted');
});

test('prefixes of the cluster are networks', () => {
  const of = (prefix: string) => codeOf(parseBgpInstance(raw({ localASN: 65001, ownedPrefixes: [prefix] })).spec);
  assert.deepEqual(['10.0.0.1/8', '10.0.0.0', 'x'].map(of), ['PrefixInvalid', 'PrefixInvalid', 'PrefixInvalid']);
  assert.equal(of('10.0.0.0/8'), 'accepted');
});

test('a peer has an address that a router can have', () => {
  const state = stateOf({ instances: [instanceOf('rack')] });
  const of = (spec: object) =>
    objectProblem(state, parseBgpPeer(raw({ instance: 'rack', asn: 65101, ...spec })))?.code ?? 'accepted';
  const bad = ['127.0.0.1', '0.0.0.0', '0.0.0.1', '224.0.0.5', '240.0.0.1', '255.255.255.255'];
  const bad6 = ['::', '::1', 'ff02::5', 'fe80::1', '::ffff:10.0.0.254', '::ffff:a00:fe', '::10.0.0.254'];
  for (const address of [...bad, ...bad6]) {
    assert.equal(of({ address }), 'InvalidAddress', address);
    const neighbor = address.includes(':') ? 'fd00::fe' : '10.0.0.254';
    assert.equal(of({ address: neighbor, sourceAddress: address }), 'InvalidAddress', `from ${address}`);
  }
  assert.equal(of({ address: '10.0.0.254', sourceAddress: '10.0.0.1' }), 'accepted');
});

test('a node has no router ID and no next hop from an address that no router can have', () => {
  const addresses = ['0.0.0.0', '127.0.0.1', '224.0.0.1', '::', 'ff02::1', 'fe80::1', '::ffff:10.0.0.1', '10.0.0.1'];
  const status = { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) };
  assert.deepEqual(parseNode({ ...raw({}), status }).addresses, ['10.0.0.1']);
});

test('of a node no more addresses count than are heeded: its kubelet may write what it likes', () => {
  const addresses = Array.from({ length: 300 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
  const status = { addresses: ['10.1.0.0', ...addresses].map((address) => ({ type: 'InternalIP', address })) };
  assert.deepEqual(parseNode({ ...raw({}), status }).addresses, addresses.slice(0, 16));
});
