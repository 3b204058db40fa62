/** Prefixes that members learned from their routers: members share them, and the owner of the addresses takes precedence. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Rejection } from '../model/messages.ts';
import { attachment, HubBed, prefix, type TestMember } from './hub-bed.ts';

const learned = (cidr: string) => prefix(cidr, { origin: 'bgp' });
const codes = (rejections: readonly Rejection[]) =>
  rejections.map(({ value, code, holder }) => [value, code, holder].join(' '));

describe('prefixes of routers at the hub', () => {
  const bed = new HubBed();
  let [east, west]: TestMember[] = [];
  const send = (member: TestMember | undefined, ...prefixes: Parameters<typeof attachment>[0]) =>
    member?.sendAttachments(
      [attachment(prefixes)],
      member === east ? 'a1' : 'b1',
      member === east ? '172.30.0.11' : '172.30.0.21',
    );
  const offered = (member: TestMember | undefined, name: string): string[] =>
    (member?.members.get(name)?.routes ?? []).map((route) => `${route.prefix} ${route.origin}`);
  before(async () => {
    await bed.up();
    [east, west] = [await bed.member('east'), await bed.member('west')];
  });
  beforeEach(async () => {
    await send(east, '10.16.0.0/16');
    await send(west, '10.17.0.0/16');
  });
  after(() => bed.down());

  it('may be offered by several members, and may contain each other', async () => {
    assert.deepEqual(await send(east, '10.16.0.0/16', learned('192.0.0.0/16'), learned('192.0.2.0/24')), []);
    assert.deepEqual(await send(west, '10.17.0.0/16', learned('192.0.0.0/16')), []);
    await west?.until(() => offered(west, 'east').length === 3);
    assert.deepEqual(offered(west, 'east'), ['10.16.0.0/16 connected', '192.0.0.0/16 bgp', '192.0.2.0/24 bgp']);
    await east?.until(() => offered(east, 'west').length === 2);
  });

  it('are refused within a prefix of another member, and accepted where they contain it', async () => {
    const refused = await send(
      west,
      '10.17.0.0/16',
      learned('10.16.0.0/16'),
      learned('10.16.7.0/24'),
      learned('10.0.0.0/8'),
    );
    assert.deepEqual(codes(refused ?? []), ['10.16.0.0/16 PrefixOverlap east', '10.16.7.0/24 PrefixOverlap east']);
  });

  it('do not keep a member from offering its own prefixes, and are refused within these', async () => {
    await send(west, '10.17.0.0/16', learned('10.20.3.0/24'), learned('10.0.0.0/8'));
    await east?.until(() => offered(east, 'west').length === 3);
    assert.deepEqual(await send(east, '10.16.0.0/16', '10.20.0.0/16'), []);
    await east?.until(() => offered(east, 'west').length === 2);
    assert.deepEqual(offered(east, 'west'), ['10.0.0.0/8 bgp', '10.17.0.0/16 connected']);
    await west?.until(() => codes(west?.last?.rejections ?? []).includes('10.20.3.0/24 PrefixOverlap east'));
    // Its addresses are free again.
    await send(east, '10.16.0.0/16');
    await east?.until(() => offered(east, 'west').length === 3);
  });

  it('become a member’s own by a change of origin only where no other member has them', async () => {
    await send(west, '10.17.0.0/16', learned('10.30.0.0/16'));
    await send(east, '10.16.0.0/16', learned('10.30.0.0/16'));
    assert.deepEqual(await send(east, '10.16.0.0/16', '10.30.0.0/16'), []);
    assert.deepEqual(codes((await send(west, '10.17.0.0/16', '10.30.0.0/16')) ?? []), [
      '10.30.0.0/16 PrefixOverlap east',
    ]);
  });
});
