import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as wire from './message.ts';
import { encodeTransaction, isTransport, loadRandom, lookUp, newChains } from './nftables.ts';

test('a transaction is one batch, of which the last message is answered', () => {
  const rule = [...isTransport(6), loadRandom(3, 2), lookUp('slots4', 0, 0)];
  const { data, last } = encodeTransaction(
    newChains('isthmus-services', [{ name: 'all4-3', rules: [rule, rule] }]),
    4711,
  );
  const messages: { type: number; flags: number; sequence: number; port: number; body: Buffer }[] = [];
  for (let at = 0; at < data.length; at += wire.readU32(data, at))
    messages.push({
      type: wire.readU16(data, at + 4),
      flags: wire.readU16(data, at + 6),
      sequence: wire.readU32(data, at + 8),
      port: wire.readU32(data, at + 12),
      body: data.subarray(at + 16, at + wire.readU32(data, at)),
    });
  const nftables = 10 << 8;
  assert.deepEqual(
    messages.map(({ type }) => type),
    [0x10, nftables | 3, nftables | 6, nftables | 6, 0x11],
  );
  assert.deepEqual([...new Set(messages.map(({ port }) => port))], [4711]);
  assert.deepEqual(
    messages.filter(({ flags }) => (flags & 4) !== 0).map(({ sequence }) => sequence),
    [last],
  );
  const attributes = wire.readAttributes((messages[2]?.body ?? Buffer.alloc(0)).subarray(4));
  assert.equal(wire.readText(attributes.get(1) ?? Buffer.alloc(0)), 'isthmus-services');
  assert.equal(wire.readText(attributes.get(2) ?? Buffer.alloc(0)), 'all4-3');
  const expressions = attributes.get(4)?.toString('latin1') ?? '';
  for (const name of ['meta', 'cmp', 'numgen', 'lookup', 'slots4']) assert.ok(expressions.includes(`${name}\0`), name);
});
