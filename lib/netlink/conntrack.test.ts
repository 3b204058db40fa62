import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deletionOf, readUdpEntry, type UdpEntry } from './conntrack.ts';
import * as wire from './message.ts';

const entries: readonly UdpEntry[] = [
  {
    family: 4,
    original: { source: '192.0.2.1', sourcePort: 40_000, destination: '10.96.0.10', destinationPort: 53 },
    reply: { source: '10.16.0.2', sourcePort: 5353, destination: '100.64.0.9', destinationPort: 40_000 },
  },
  {
    family: 6,
    original: { source: 'fd00::1', sourcePort: 40_000, destination: 'fd00:96::a', destinationPort: 53 },
    reply: { source: 'fd00:10::2', sourcePort: 5353, destination: 'fd00::1', destinationPort: 40_000 },
  },
];
const replyOf = ({ family, reply }: UdpEntry): Buffer =>
  retype(deletionOf({ family, original: reply, reply })[1] ?? Buffer.alloc(0), 2);

function retype(attribute: Buffer, type: number): Buffer {
  return wire.attribute(type, attribute.subarray(4));
}

test('an entry is decoded as it is encoded in a request', () => {
  for (const entry of entries)
    assert.deepEqual(readUdpEntry(Buffer.concat([...deletionOf(entry), replyOf(entry)])), entry);
});

test('entries of other protocols and of other zones are ignored', () => {
  const [entry] = entries;
  assert.ok(entry !== undefined);
  const bytes = Buffer.concat([...deletionOf(entry), replyOf(entry)]);
  assert.equal(readUdpEntry(Buffer.concat([bytes, wire.attribute(18, Buffer.from([0, 1]))])), undefined);
  const tcp = Buffer.from(bytes);
  // CTA_PROTO_NUM: length 5, type 1.
  for (let at = 0; (at = tcp.indexOf(Buffer.from([5, 0, 1, 0, 17]), at)) >= 0; at += 1) tcp[at + 4] = 6;
  assert.equal(readUdpEntry(tcp), undefined);
  assert.equal(readUdpEntry(Buffer.from([2, 0, 0, 0])), undefined);
});
