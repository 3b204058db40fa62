import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { EncryptionWish, MemberState } from '../model/messages.ts';
import { attachment, HubBed, type TestMember } from './hub-bed.ts';

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

function stateOf(name: string, byte: number, encryption?: EncryptionWish, address = ''): Omit<MemberState, 'revision'> {
  const ip = `172.30.0.${byte}`;
  const wireGuard = { publicKey: keyOf(byte), endpoints: [`${ip}:51820`], address };
  return {
    gateways: [{ chassis: name, hostname: name, encaps: [{ type: 'geneve', ip, options: {} }], wireGuard }],
    attachments: [attachment([`10.${byte}.0.0/16`])],
    unreachable: [],
    tellsExports: true,
    tellsPaths: true,
    ...(encryption === undefined ? {} : { encryption }),
  };
}

describe('keys of gateways at the hub', () => {
  let bed: HubBed;
  beforeEach(async () => {
    bed = new HubBed();
    await bed.up({ tunnelCidr: '100.126.4.0/24' });
  });
  afterEach(() => bed.down());

  const wish: EncryptionWish = { mode: 'preferred', clusters: { west: 'required' } };
  const join = async (name: string, state: Omit<MemberState, 'revision'>): Promise<TestMember> => {
    const member = await bed.member(name);
    await member.sendState(state);
    return member;
  };
  const seen = (member: TestMember, name: string) => {
    const found = member.members.get(name);
    const [gateway] = found?.gateways ?? [];
    return [gateway?.wireGuard?.publicKey, gateway?.wireGuard?.address, found?.encryption];
  };

  it('reach the others with an address and with what is wished for each of them', async () => {
    const west = await join('west', stateOf('b1', 12));
    const north = await join('north', stateOf('c1', 13));
    const east = await join('east', stateOf('a1', 11, wish));
    for (const [member, mode] of [
      [west, 'required'],
      [north, 'preferred'],
    ] as const) {
      await member.until(() => seen(member, 'east')[2] !== undefined);
      assert.deepEqual(seen(member, 'east'), [keyOf(11), '100.126.4.3', mode]);
    }
    await east.until(() => east.members.has('west'));
    assert.deepEqual(seen(east, 'west'), [keyOf(12), '100.126.4.1', '']);
    assert.deepEqual(
      [east.last?.tunnelCidr, { ...east.last?.tunnelAddresses }],
      ['100.126.4.0/24', { a1: '100.126.4.3' }],
    );
  });

  it('keep their addresses and wishes over a restart of the hub, in any order of members', async () => {
    await join('west', stateOf('b1', 12));
    await join('east', stateOf('a1', 11, wish));
    await bed.restart({ tunnelCidr: '100.126.4.0/24' });
    const west = await join('west', stateOf('b1', 12));
    await west.until(() => seen(west, 'east')[2] !== undefined);
    assert.deepEqual(seen(west, 'east'), [keyOf(11), '100.126.4.2', 'required'], 'east has no session yet');
  });

  it('return from the members to a hub that lost its databases', async () => {
    await join('west', stateOf('b1', 12));
    await join('east', stateOf('a1', 11));
    await bed.stop();
    await bed.startDatabases();
    await bed.start({ tunnelCidr: '100.126.4.0/24' });
    const east = await join('east', stateOf('a1', 11, undefined, '100.126.4.2'));
    assert.deepEqual({ ...east.last?.tunnelAddresses }, { a1: '100.126.4.2' });
  });

  it('that another member has are refused, and nothing else of the member is', async () => {
    const east = await join('east', stateOf('a1', 11));
    const thief = await bed.member('thief');
    const theirs = stateOf('x1', 19);
    const [gateway] = theirs.gateways;
    assert.ok(gateway);
    const stolen = { publicKey: keyOf(11), endpoints: [], address: '100.126.4.1' };
    const rejections = await thief.sendState({ ...theirs, gateways: [{ ...gateway, wireGuard: stolen }] });
    assert.deepEqual(
      rejections.map(({ kind, code, holder }) => [kind, code, holder]),
      [['key', 'DuplicateKey', 'east']],
    );
    await east.until(() => east.members.has('thief'));
    assert.deepEqual(seen(east, 'thief').slice(0, 2), [undefined, undefined]);
    assert.equal(east.members.get('thief')?.gateways.length, 1);
    const borrowed = { publicKey: keyOf(19), endpoints: [], address: '100.126.4.1' };
    await thief.sendState({ ...theirs, gateways: [{ ...gateway, wireGuard: borrowed }] });
    assert.deepEqual({ ...thief.last?.tunnelAddresses }, { x1: '100.126.4.2' });
  });

  it('are replaced once others say that they accept the next one, which nobody else can take', async () => {
    const next = keyOf(21);
    const rotating = (state: Omit<MemberState, 'revision'>): Omit<MemberState, 'revision'> => ({
      ...state,
      gateways: state.gateways.map((one) => ({ ...one, wireGuard: { ...one.wireGuard!, nextKey: next } })),
    });
    const west = await join('west', stateOf('b1', 12));
    const north = await join('north', stateOf('c1', 13));
    const east = await join('east', rotating(stateOf('a1', 11)));
    const acceptances = (member: TestMember) =>
      (member.last?.keyAcceptances ?? []).map(({ publicKey, clusters }) => [publicKey, ...clusters]);
    await west.until(() => west.members.get('east')?.gateways[0]?.wireGuard?.nextKey === next);
    await east.until(() => acceptances(east).length === 1);
    assert.deepEqual(acceptances(east), [[next]]);
    const accepted = { acceptedKeys: [{ cluster: 'east', publicKey: next }] };
    await west.sendState({ ...stateOf('b1', 12), ...accepted });
    await east.until(() => acceptances(east)[0]?.length === 2);
    assert.deepEqual(acceptances(east), [[next, 'west']]);
    assert.deepEqual(acceptances(north), [], 'nobody else receives them');
    const [refusal] = await north.sendState(rotating(stateOf('c1', 13)));
    assert.deepEqual([refusal?.kind, refusal?.code], ['key', 'NextKeyRefused']);
    const [thief] = await north.sendState(stateOf('c1', 21));
    assert.deepEqual([thief?.code, thief?.holder], ['DuplicateKey', 'east']);
    await bed.restart({ tunnelCidr: '100.126.4.0/24' });
    const again = await join('west', { ...stateOf('b1', 12), ...accepted });
    await again.until(() => again.members.get('east')?.gateways[0]?.wireGuard?.nextKey === next);
  });
});
