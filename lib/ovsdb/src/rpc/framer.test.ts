import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OvsdbProtocolError } from '../errors.ts';
import { Framer } from './framer.ts';

const messages = [
  { id: 1, result: [], error: null },
  { method: 'echo', params: ['quote " brace } bracket ] backslash \\ end'], id: 'echo' },
  { method: 'update', params: ['grüße 網路 🚀', { nested: [[{ deep: '{"' }]] }], id: null },
  { text: '\\\\"\u0000\u001f' },
];
const stream = Buffer.from(messages.map((message) => JSON.stringify(message)).join(''));

function frame(chunks: readonly Buffer[]): readonly unknown[] {
  const framer = new Framer();
  return chunks.flatMap((chunk) => [...framer.push(chunk)]);
}

test('several messages in one chunk are returned in order', () => {
  assert.deepEqual(frame([stream]), messages);
});

test('the messages are the same wherever the input is split: in an escape, in a character, between messages', () => {
  for (let at = 0; at <= stream.length; at++) {
    assert.deepEqual(frame([stream.subarray(0, at), stream.subarray(at)]), messages, `split at ${at}`);
  }
});

test('messages are parsed from single bytes', () => {
  assert.deepEqual(frame(Array.from(stream, (_, at) => stream.subarray(at, at + 1))), messages);
});

test('white space between messages is skipped', () => {
  assert.deepEqual(frame([Buffer.from('\n{"a":1}\r\n '), Buffer.from('\t{"b":2}\n')]), [{ a: 1 }, { b: 2 }]);
});

test('input that is not JSON is a protocol error', () => {
  for (const bad of ['HTTP/1.1 400', '}', '{"a":}', ']', '"text"']) {
    assert.throws(() => frame([Buffer.from(bad)]), OvsdbProtocolError, bad);
  }
});
