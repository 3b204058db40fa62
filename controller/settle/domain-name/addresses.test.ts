import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../../lib/dns/message.ts';
import { DomainAddresses, graceMs, keptMs, mostAddresses } from './addresses.ts';

const one: ReadonlySet<string> = new Set(['a']);
const two: ReadonlySet<string> = new Set(['a', 'b']);
const startMs = 1_700_000_000_000;
const none: Answer = { kind: 'none', exists: true, ttlSeconds: 5 };
const lost: Answer = { kind: 'failed', reason: 'no answer' };
const of = (ttlSeconds: number, ...addresses: readonly string[]): Answer => ({
  kind: 'addresses',
  addresses: addresses.map((address) => ({ address, ttlSeconds })),
});
const accept = (): undefined => undefined;
const take = (known: DomainAddresses, seconds: number, answer: Answer, server = 'a') =>
  known.answered(server, answer, startMs + seconds * 1000, accept);
const current = (known: DomainAddresses): readonly string[] => [...known.current].sort();

test('an address is for new connections as long as its answer holds, and a grace', () => {
  const known = new DomainAddresses(one);
  assert.equal(take(known, 0, of(30, '192.0.2.1')), true);
  assert.equal(take(known, 20, of(30, '192.0.2.2')), true);
  assert.deepEqual(current(known), ['192.0.2.1', '192.0.2.2']);
  assert.equal(take(known, 30, of(30, '192.0.2.2')), false);
  assert.equal(known.nextMs, startMs + 30_000 + graceMs);
  assert.equal(known.expire(known.nextMs - 1), false);
  assert.equal(known.expire(startMs + 30_000 + graceMs), true);
  assert.deepEqual(current(known), ['192.0.2.2']);
  assert.deepEqual([...known.left], [['192.0.2.1', startMs + 30_000 + graceMs + keptMs]]);
});

test('a former address is forgotten after a day, and is current again if an answer has it', () => {
  const known = new DomainAddresses(one);
  take(known, 0, of(1, '192.0.2.1', '192.0.2.2'));
  take(known, 60, none);
  assert.deepEqual([current(known), [...known.left.keys()]], [[], ['192.0.2.1', '192.0.2.2']]);
  assert.equal(take(known, 100, of(1, '192.0.2.1')), true);
  assert.deepEqual([current(known), [...known.left.keys()]], [['192.0.2.1'], ['192.0.2.2']]);
  assert.equal(known.nextMs, startMs + 60_000 + keptMs);
  assert.equal(known.expire(known.nextMs), true);
  assert.deepEqual([current(known), [...known.left]], [['192.0.2.1'], []]);
});

test('addresses stay while no server answers, and the first answer afterwards counts', () => {
  const known = new DomainAddresses(one);
  take(known, 0, of(30, '192.0.2.1'));
  assert.equal(take(known, 30, lost), false);
  assert.equal(known.nextMs, Number.POSITIVE_INFINITY);
  assert.equal(known.expire(startMs + 86_400_000), false);
  assert.deepEqual(current(known), ['192.0.2.1']);
  assert.equal(take(known, 90_000, of(30, '192.0.2.1')), false);
  assert.equal(take(known, 100_000, none), true);
  assert.deepEqual(current(known), []);
});

test('the answers of all servers count', () => {
  const known = new DomainAddresses(two);
  take(known, 0, of(30, '192.0.2.1'), 'a');
  take(known, 1, of(30, '192.0.2.2'), 'b');
  take(known, 30, of(30, '192.0.2.1'), 'a');
  take(known, 31, of(30, '192.0.2.2'), 'b');
  assert.equal(known.expire(startMs + 45_000), false);
  assert.deepEqual(current(known), ['192.0.2.1', '192.0.2.2']);
});

test('an address stays until its own server has answered, or failed to, although another one has', () => {
  const known = new DomainAddresses(two);
  take(known, 0, of(30, '192.0.2.1'), 'a');
  take(known, 1, of(30, '192.0.2.2'), 'b');
  for (const seconds of [31, 61, 91]) assert.equal(take(known, seconds, of(30, '192.0.2.2'), 'b'), false);
  assert.equal(known.nextMs, Number.POSITIVE_INFINITY);
  assert.equal(take(known, 100, of(30, '192.0.2.1'), 'a'), false);
  assert.deepEqual(current(known), ['192.0.2.1', '192.0.2.2']);
  // Server a fails after the TTL of its answer, and server b answers without the address.
  assert.equal(take(known, 135, lost, 'a'), false, 'b was not heard since then');
  assert.equal(take(known, 145, of(30, '192.0.2.2'), 'b'), true);
  assert.deepEqual(current(known), ['192.0.2.2']);
});

test('a failure ends an address that another server no longer has, and nothing ends while all fail', () => {
  const known = new DomainAddresses(two);
  take(known, 0, of(30, '192.0.2.1'), 'a');
  take(known, 50, none, 'b');
  assert.equal(take(known, 60, lost, 'a'), true);
  assert.deepEqual(current(known), []);
  take(known, 70, of(30, '192.0.2.2'), 'a');
  take(known, 110, lost, 'a');
  assert.equal(take(known, 111, lost, 'b'), false);
  assert.equal(known.expire(startMs + 86_400_000), false);
  assert.deepEqual(current(known), ['192.0.2.2']);
});

test('a server that is no longer asked is not waited for, and a new one is', () => {
  const known = new DomainAddresses(two);
  take(known, 0, of(30, '192.0.2.1'), 'a');
  assert.equal(take(known, 50, none, 'b'), false);
  known.setServers(new Set(['b', 'c']));
  assert.equal(known.expire(startMs + 60_000), false);
  known.setServers(new Set(['b']));
  assert.equal(known.nextMs, startMs + 40_000);
  assert.equal(known.expire(startMs + 61_000), true);
  take(known, 62, of(1, '192.0.2.1'), 'b');
  known.setServers(new Set());
  assert.equal(known.expire(startMs + 100_000), false, 'without servers nothing ends');
  assert.deepEqual(current(known), ['192.0.2.1']);
});

test('after a restart nothing changes until servers have answered for five minutes', () => {
  const known = new DomainAddresses(one);
  known.restore(['192.0.2.1', '192.0.2.2'], new Map([['192.0.2.3', startMs + 1000]]), startMs);
  assert.deepEqual([current(known), [...known.left.keys()]], [['192.0.2.1', '192.0.2.2'], ['192.0.2.3']]);
  assert.equal(take(known, 0.5, of(30, '192.0.2.1')), false);
  assert.equal(known.expire(startMs + 1000), true, 'a former address ends when it did before');
  assert.equal(take(known, 290, of(30, '192.0.2.1')), false);
  assert.equal(take(known, 320, of(30, '192.0.2.1')), true);
  assert.deepEqual(current(known), ['192.0.2.1']);
});

test('there are a thousand at most, of which former ones end first, the oldest before others', () => {
  const known = new DomainAddresses(one);
  const many = (from: number, to: number): readonly string[] =>
    Array.from({ length: to - from }, (_, index) => `10.0.${(from + index) >> 8}.${(from + index) & 255}`);
  take(known, 0, of(1, ...many(0, 2)));
  take(known, 60, of(1, ...many(2, 4)));
  take(known, 120, of(1, ...many(4, mostAddresses + 3)));
  assert.deepEqual([...known.left.keys()], ['10.0.0.3']);
  assert.equal(current(known).length, mostAddresses - 1);
  take(known, 121, of(1, ...many(4, mostAddresses + 8)));
  assert.deepEqual([current(known).length, [...known.left]], [mostAddresses, []]);
  assert.equal(known.outcomes.get('a')?.isShort, true);
});

test('an address that a name must not have counts as absent', () => {
  const known = new DomainAddresses(one);
  take(known, 0, of(1, '192.0.2.1', '192.0.2.2'));
  const answer = of(1, '192.0.2.1', '192.0.2.2');
  const refuse = (address: string): string | undefined => (address === '192.0.2.1' ? 'of node n1' : undefined);
  assert.equal(known.answered('a', answer, startMs + 20_000, refuse), true);
  assert.deepEqual(current(known), ['192.0.2.2']);
  assert.equal(known.outcomes.get('a')?.refused, '192.0.2.1 is of node n1');
});

test('of several refused addresses, the smallest is named in whatever order they come', () => {
  const refuse = (): string => 'of node n1';
  for (const list of [
    ['192.0.2.2', '192.0.2.1', '192.0.2.3'],
    ['192.0.2.3', '192.0.2.2', '192.0.2.1'],
  ]) {
    const known = new DomainAddresses(one);
    known.answered('a', of(1, ...list), startMs, refuse);
    assert.equal(known.outcomes.get('a')?.refused, '192.0.2.1 is of node n1');
  }
});

test('of a longer answer, as many addresses are judged as a name may have, the same in whatever order they come', () => {
  const list = Array.from({ length: 3 * mostAddresses }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  const judged = [list, list.toReversed()].map((order) => {
    const known = new DomainAddresses(one);
    const seen: string[] = [];
    known.answered('a', of(1, ...order), startMs, (address) => {
      seen.push(address);
      return 'of node n1';
    });
    assert.equal(known.outcomes.get('a')?.isShort, true);
    return seen.sort();
  });
  assert.equal(judged[0]?.length, mostAddresses);
  assert.deepEqual(judged[0], judged[1]);
});

test('a TTL counts up to an hour', () => {
  const known = new DomainAddresses(one);
  take(known, 0, of(2 ** 31 - 1, '192.0.2.1'));
  assert.equal(take(known, 3611, none), true);
});
