import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EncryptionMode, Gateway, Member } from '../model/messages.ts';
import { gateway, local, west } from '../model/testing.ts';
import { planKeySlices } from '../plan/key-slices.ts';
import { isWanted, modeOf, OwnEncryption, type EncryptionFacts } from './encryption.ts';
import { acceptGateways } from './gateways.ts';

const cidr = '100.126.0.0/16';
const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const keyed = (one: Gateway, last: number, address = `100.126.0.${last}`): Gateway => ({
  ...one,
  wireGuard: { publicKey: keyOf(last), endpoints: [`172.30.2.${last}:51820`], address },
});
const [b1, b2] = [gateway('b1', '172.30.2.11'), gateway('b2', '172.30.2.12')];
const wish = (mode: EncryptionMode, clusters = {}) => ({ mode, clusters });
const facts = (mode: EncryptionMode, fields: Partial<EncryptionFacts> = {}): EncryptionFacts => ({
  wish: wish(mode),
  cidr,
  isReady: true,
  ...fields,
});
const member = (gateways: readonly Gateway[], fields: Partial<Member> = {}): Member => ({
  ...west,
  gateways,
  ...fields,
});

function accepted(one: Member, encryption: EncryptionFacts) {
  const { gateways, refused, mode, encrypted } = acceptGateways(one, local, encryption);
  return {
    ips: gateways.map(({ encaps }) => encaps.map(({ ip }) => ip).join()),
    refused: [...refused].map(([chassis, { code }]) => `${chassis} ${code}`),
    mode,
    encrypted: [...encrypted],
  };
}

describe('the mode of a pair of clusters', () => {
  it('is the stricter wish of the two', () => {
    const modes = ['off', 'preferred', 'required'] as const;
    for (const [a, own] of modes.entries())
      for (const [b, other] of modes.entries())
        assert.equal(modeOf(wish(own), { name: 'west', encryption: other }), modes[Math.max(a, b)]);
    assert.equal(modeOf(wish('off'), { name: 'west' }), 'off');
    assert.equal(modeOf(wish('required'), { name: 'west', encryption: '' }), 'required');
  });
  it('is that of an override for the cluster, if there is one', () => {
    assert.equal(modeOf(wish('required', { west: 'off' }), { name: 'west', encryption: 'off' }), 'off');
    assert.equal(modeOf(wish('off', { west: 'preferred' }), { name: 'west', encryption: 'off' }), 'preferred');
    assert.equal(isWanted(wish('off', { west: 'preferred' }), []), true);
    assert.equal(isWanted(wish('off'), [{ ...west, encryption: 'required' }]), true);
    assert.equal(isWanted(wish('off'), [west]), false);
  });
});

describe('gateways of another cluster', () => {
  const both = member([keyed(b1, 1), keyed(b2, 2)]);
  it('have their address within tunnels if the pair is encrypted', () => {
    for (const mode of ['preferred', 'required'] as const)
      assert.deepEqual(accepted(both, facts(mode)), {
        ips: ['100.126.0.1', '100.126.0.2'],
        refused: [],
        mode,
        encrypted: ['b1', 'b2'],
      });
    assert.deepEqual(accepted(both, facts('off')).ips, ['172.30.2.11', '172.30.2.12']);
  });
  it('without a key have no tunnel if encryption is required, and a plain one otherwise', () => {
    const one = member([b1, keyed(b2, 2)]);
    const required = accepted(one, facts('required'));
    assert.deepEqual([required.ips, required.refused], [['100.126.0.2'], ['b1 PeerHasNoKey']]);
    assert.deepEqual(accepted(one, facts('preferred')).ips, ['172.30.2.11', '100.126.0.2']);
  });
  it('have no tunnel as long as this cluster has no key and encryption is required, by either side', () => {
    const notReady = { isReady: false };
    assert.deepEqual(accepted(both, facts('required', notReady)).ips, []);
    const theirs = accepted(member(both.gateways, { encryption: 'required' }), facts('off', notReady));
    assert.deepEqual([theirs.ips, theirs.refused], [[], ['b1 NoOwnKey', 'b2 NoOwnKey']]);
    assert.deepEqual(accepted(both, facts('preferred', notReady)).ips, ['172.30.2.11', '172.30.2.12']);
    assert.deepEqual(accepted(both, facts('required', { cidr: '', isReady: false })).refused, [
      'b1 HubTooOld',
      'b2 HubTooOld',
    ]);
  });
  it('are never given an address outside of the network, which would leave the node in the clear', () => {
    const stray = member([keyed(b1, 1, '10.0.0.1'), keyed(b2, 2, '')]);
    assert.deepEqual(accepted(stray, facts('required')).refused, ['b1 PeerHasNoKey', 'b2 PeerHasNoKey']);
  });
});

describe('the part of this cluster', () => {
  const report = { guarded: true, publicKey: keyOf(9) };
  const input = {
    wish: wish('required'),
    members: [],
    hub: { cidr, addresses: { a1: '100.126.0.9' } },
    published: ['a1', 'a2'],
    reportOf: () => report,
    wasEncrypted: () => false,
    local,
  };
  it('is ready when every gateway is guarded and one has an address', () => {
    const own = new OwnEncryption();
    const first = own.settle({ ...input, reportOf: (chassis) => (chassis === 'a1' ? report : undefined) });
    assert.equal(first.isReady, false);
    assert.equal(own.settle({ ...input, hub: { cidr, addresses: {} } }).isReady, false);
    assert.equal(own.settle(input).isReady, true);
  });
  it('stays ready when a gateway joins that has not reported yet, and is the same object', () => {
    const own = new OwnEncryption();
    const before = own.settle(input);
    const after = own.settle({
      ...input,
      published: ['a1', 'a2', 'a3'],
      reportOf: (one) => (one === 'a3' ? undefined : report),
    });
    assert.equal(before, after);
  });
  it('does not use a network that this cluster has itself', () => {
    for (const overlapping of ['10.16.0.0/24', '172.30.0.0/16']) {
      const hub = { cidr: overlapping, addresses: { a1: '10.16.0.9' } };
      const own = new OwnEncryption().settle({ ...input, hub });
      assert.deepEqual([own.cidr, own.isReady, own.problem?.code], ['', false, 'TunnelCIDROverlap']);
      assert.deepEqual(accepted(member([keyed(b1, 1)]), own).refused, ['b1 TunnelCIDROverlap']);
    }
  });
  it('is ready at once if tunnels were encrypted when the process began', () => {
    const late = { ...input, reportOf: () => undefined, wasEncrypted: () => true };
    assert.equal(new OwnEncryption().settle(late).isReady, true);
    assert.equal(new OwnEncryption().settle({ ...late, wish: wish('off') }).isReady, false);
  });
});

describe('slices of keys', () => {
  const own = [keyed(gateway('a1', '172.30.1.11'), 9)];
  it('are one for this cluster, and one for each with encrypted tunnels', () => {
    const members = [
      member([keyed(b1, 1), b2]),
      { ...member([keyed(b1, 3)]), name: 'north', encryption: 'off' } as const,
    ];
    const wishes = wish('off', { west: 'required' });
    const slices = planKeySlices({
      cluster: 'east',
      facts: facts('off', { wish: wishes }),
      own,
      members,
      acceptances: [],
      isConnected: true,
    });
    assert.deepEqual(
      [...slices].map(([name, { isOwn, gateways }]) => [name, isOwn, gateways.map(({ address }) => address)]),
      [
        ['east', true, ['100.126.0.9']],
        ['west', false, ['100.126.0.1']],
      ],
    );
  });
  it('are none without a network', () => {
    const none = {
      cluster: 'east',
      facts: facts('required', { cidr: '' }),
      own,
      members: [],
      acceptances: [],
      isConnected: true,
    };
    assert.equal(planKeySlices(none).size, 0);
  });
});
