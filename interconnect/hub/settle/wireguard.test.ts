import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Gateway, WireGuard } from '../../model/messages.ts';
import { gateway } from '../../model/testing.ts';
import { Refusals } from './refusals.ts';
import {
  admitAcceptedKeys,
  admitWireGuard,
  isEndpoint,
  isPublicKey,
  keyAcceptances,
  type WireGuardFacts,
} from './wireguard.ts';

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const end = (byte: number, fields: Partial<WireGuard> = {}): WireGuard => ({
  publicKey: keyOf(byte),
  endpoints: [`172.30.1.${byte}:51820`],
  address: '',
  ...fields,
});
const plain = [gateway('a1', '172.30.1.11'), gateway('a2', '172.30.1.12')];

function admitted(wishes: readonly (WireGuard | null)[], facts: Partial<WireGuardFacts> = {}) {
  const refusals = new Refusals();
  const requested = plain.map((one, at): Gateway => ({ ...one, wireGuard: wishes[at] ?? null }));
  const others = { publicKey: () => undefined, tunnelAddress: () => undefined };
  const all = { own: undefined, others, tunnelCidr: '100.126.0.0/29', hasUnknownPorts: false, ...facts };
  const gateways = admitWireGuard(plain, requested, all, refusals);
  return {
    ends: gateways.map(({ wireGuard }) => wireGuard ?? undefined),
    addresses: gateways.map(({ wireGuard }) => wireGuard?.address),
    codes: refusals.list().map(({ code, holder }) => `${code} ${holder}`.trim()),
  };
}

describe('keys of gateways', () => {
  it('get an address each, the lowest that is free', () => {
    assert.deepEqual(admitted([end(1), end(2)]).addresses, ['100.126.0.1', '100.126.0.2']);
    const others = {
      publicKey: () => undefined,
      tunnelAddress: (ip: string) => (ip === '100.126.0.1' ? 'west' : undefined),
    };
    assert.deepEqual(admitted([end(1), null], { others }).addresses, ['100.126.0.2', undefined]);
  });

  it('keep the address that the hub recorded, and otherwise the one that the member has', () => {
    const own = {
      name: 'east',
      handle: 'east',
      attachments: [],
      gateways: [{ ...plain[1]!, wireGuard: end(2, { address: '100.126.0.1' }) }],
    };
    assert.deepEqual(admitted([end(1), end(2, { address: '100.126.0.5' })], { own }).addresses, [
      '100.126.0.2',
      '100.126.0.1',
    ]);
    assert.deepEqual(admitted([end(1), end(2, { address: '100.126.0.1' })]).addresses, ['100.126.0.2', '100.126.0.1']);
  });

  it('do not get an address that another member has, or that lies outside of the network', () => {
    const others = {
      publicKey: () => undefined,
      tunnelAddress: (ip: string) => (ip === '100.126.0.3' ? 'west' : undefined),
    };
    const wishes = [end(1, { address: '100.126.0.3' }), end(2, { address: '10.0.0.1' })];
    assert.deepEqual(admitted(wishes, { others }).addresses, ['100.126.0.1', '100.126.0.2']);
    for (const address of ['100.126.0.0', '100.126.0.7', '100.126.0.01', 'x'])
      assert.deepEqual(admitted([end(1, { address }), null]).addresses, ['100.126.0.1', undefined], address);
  });

  it('are refused if another gateway has them: the older holder keeps its key, and the rest of the member is served', () => {
    const others = {
      publicKey: (key: string) => (key === keyOf(1) ? 'west' : undefined),
      tunnelAddress: () => undefined,
    };
    const { addresses, codes } = admitted([end(1), end(2)], { others });
    assert.deepEqual([addresses, codes], [[undefined, '100.126.0.1'], ['DuplicateKey west']]);
    assert.deepEqual(admitted([end(1), end(1)]).codes, ['DuplicateKey']);
  });

  it('are refused if they are no keys, and if no address is left', () => {
    assert.deepEqual(admitted([end(1, { publicKey: 'AAAA' }), end(2)]).codes, ['KeyInvalid']);
    assert.deepEqual(admitted([end(1), end(2)], { tunnelCidr: '100.126.0.0/31' }).codes, [
      'TunnelAddressesExhausted',
      'TunnelAddressesExhausted',
    ]);
    assert.equal(isPublicKey(`${'A'.repeat(43)}=`), true);
    // The last digit has two bits that belong to no byte.
    assert.equal(isPublicKey(`${'A'.repeat(42)}B=`), false);
  });

  it('have endpoints that are one machine each, four at most', () => {
    const good = ['192.0.2.1:51820', '[2001:db8::1]:1', '10.0.0.1:65535'];
    const bad = [
      '127.0.0.1:1',
      '224.0.0.1:1',
      '0.0.0.0:1',
      '255.255.255.255:1',
      '[::1]:1',
      '[ff02::1]:1',
      '169.254.1.1:1',
      'host:1',
      '10.0.0.1',
      '10.0.0.1:0',
      '10.0.0.1:65536',
      '10.0.0.1:1\nset=1',
    ];
    for (const text of good) assert.equal(isEndpoint(text), true, text);
    for (const text of bad) assert.equal(isEndpoint(text), false, text);
    const many = Array.from({ length: 6 }, (_, at) => `192.0.2.${at + 1}:1`);
    assert.deepEqual(admitted([end(1, { endpoints: [...bad, ...many] }), null]).ends[0]?.endpoints, many.slice(0, 4));
  });
});

describe('next keys of gateways', () => {
  it('are passed on, unless they are no keys or another gateway has them', () => {
    const wishes = [end(1, { nextKey: keyOf(11) }), end(2, { nextKey: keyOf(11) })];
    const { ends, codes } = admitted(wishes);
    assert.deepEqual(
      ends.map((one) => one?.nextKey),
      [keyOf(11), undefined],
    );
    assert.deepEqual(codes, ['NextKeyRefused'], 'the gateway itself keeps its key');
    const others = {
      publicKey: (key: string) => (key === keyOf(12) ? 'west' : undefined),
      tunnelAddress: () => undefined,
    };
    for (const nextKey of [keyOf(12), 'x', keyOf(1)])
      assert.deepEqual(admitted([end(1, { nextKey }), null], { others }).codes, ['NextKeyRefused']);
  });
  it('are accepted by the members that say so', () => {
    const good = { cluster: 'west', publicKey: keyOf(1) };
    const all = [good, { cluster: 'west', publicKey: 'x' }, { cluster: 'not a name', publicKey: keyOf(2) }];
    assert.deepEqual([...admitAcceptedKeys(all).values()], [good]);
    const record = {
      name: 'east',
      handle: 'east',
      attachments: [],
      gateways: [
        { ...plain[0]!, wireGuard: end(1, { nextKey: keyOf(11) }) },
        { ...plain[1]!, wireGuard: end(2) },
      ],
    };
    assert.deepEqual(
      keyAcceptances(record, (key) => [`of ${key === keyOf(11)}`]),
      [{ publicKey: keyOf(11), clusters: ['of true'] }],
    );
    assert.deepEqual(
      keyAcceptances(undefined, () => []),
      [],
    );
  });
});
