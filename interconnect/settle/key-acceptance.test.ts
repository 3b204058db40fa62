import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { EncryptionMode, Gateway, Member } from '../model/messages.ts';
import { gateway, west } from '../model/testing.ts';
import { planKeySlices } from '../plan/key-slices.ts';
import { acceptedKeys, clustersWithout } from './key-acceptance.ts';

const wish = { mode: 'preferred', clusters: { south: 'off' } } as const;
const end = (publicKey: string, nextKey?: string) => ({
  publicKey,
  endpoints: [],
  address: '100.126.0.1',
  ...(nextKey === undefined ? {} : { nextKey }),
});
const keyed = (chassis: string, nextKey?: string): Gateway => ({
  ...gateway(chassis, '172.30.2.11'),
  wireGuard: end(`key of ${chassis}`, nextKey),
});
const member = (name: string, gateways: readonly Gateway[], encryption: EncryptionMode = 'off'): Member => ({
  ...west,
  name,
  gateways,
  encryption,
});
const report = (peers: GatewayWireGuard['peers'], publicKey = 'own'): GatewayWireGuard => ({
  guarded: true,
  publicKey,
  peers,
});

describe('next keys of others', () => {
  const members = [member('west', [keyed('b1', 'next'), keyed('b2')])];
  const accepting = { chassis: 'b1', session: 'Up', nextKey: 'next' } as const;
  it('are accepted once every gateway with a key has them', () => {
    const expected = [{ cluster: 'west', publicKey: 'next' }];
    assert.deepEqual(acceptedKeys(wish, members, [report([accepting])]), expected);
    assert.deepEqual(acceptedKeys(wish, members, [report([accepting]), report([accepting])]), expected);
    assert.deepEqual(acceptedKeys(wish, members, [report([accepting]), report([])]), []);
    assert.deepEqual(acceptedKeys(wish, members, [report([{ ...accepting, nextKey: 'older' }])]), []);
    const keyless: GatewayWireGuard = { guarded: true, problem: 'no WireGuard' };
    assert.deepEqual(acceptedKeys(wish, members, [report([accepting]), keyless]), expected);
  });
  it('of clusters without encryption do not count', () => {
    assert.deepEqual(acceptedKeys(wish, [member('south', [keyed('b1', 'next')])], [report([accepting])]), []);
  });
});

describe('the next key of a gateway', () => {
  const members = [
    member('west', [keyed('b1')]),
    member('north', [keyed('c1')]),
    member('south', [keyed('d1')]),
    member('plain', [gateway('e1', '172.30.5.11')]),
    { ...member('foreign', [keyed('f1')]), foreign: true },
  ];
  it('waits for the clusters with encrypted tunnels, once the hub has announced it to them', () => {
    const without = (clusters: readonly string[]) =>
      clustersWithout('next', wish, members, [{ publicKey: 'next', clusters }]);
    assert.equal(clustersWithout('next', wish, members, [{ publicKey: 'older', clusters: ['west'] }]), undefined);
    assert.deepEqual(without([]), ['north', 'west']);
    assert.deepEqual(without(['west']), ['north']);
    assert.deepEqual(without(['north', 'west']), []);
  });
  it('is in the slice of its cluster with these, and in those of others without', () => {
    const facts = { wish, cidr: '100.126.0.0/16', isReady: true };
    const input = {
      cluster: 'east',
      facts,
      own: [keyed('a1', 'next'), keyed('a2', 'unheard')],
      members: [member('west', [keyed('b1', 'theirs')])],
      acceptances: [{ publicKey: 'next', clusters: [] }],
      isConnected: true,
    };
    const slices = planKeySlices(input);
    const keysOf = (name: string) => slices.get(name)?.gateways.map(({ nextKey, waitsFor }) => [nextKey, waitsFor]);
    assert.deepEqual(keysOf('east'), [
      ['next', ['west']],
      [undefined, undefined],
    ]);
    assert.deepEqual(keysOf('west'), [['theirs', undefined]]);
    const [own] = planKeySlices({ ...input, isConnected: false }).get('east')?.gateways ?? [];
    assert.deepEqual([own?.nextKey, own?.waitsFor], [undefined, undefined], 'without a session no key is changed');
  });
});
