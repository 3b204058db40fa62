import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { announcementFrame, readNeighbourAnswer, solicitationFrame } from './solicitation.ts';

const own = '12:aa:bb:cc:00:0a';
const owner = '02:00:00:00:00:07';
const bytes = (...hex: readonly string[]): Buffer => Buffer.from(hex.join('').replaceAll(/[ :]/g, ''), 'hex');

describe('questions', () => {
  test('of ARP: broadcast, with the tag, without a sender address', () => {
    const frame = solicitationFrame({ vlan: 10, mac: own, address: '10.30.0.7' });
    const expected = bytes(
      'ffffffffffff 12aabbcc000a 8100 000a 0806',
      '0001 0800 06 04 0001 12aabbcc000a 00000000 000000000000 0a1e0007',
    );
    assert.equal(frame.toString('hex'), expected.toString('hex'));
  });

  test('of neighbour discovery: to the group of the address, with a checksum that is right', () => {
    const frame = solicitationFrame({ vlan: 4094, mac: own, address: 'fd00:30::12:3456' });
    assert.equal(
      frame.subarray(0, 18).toString('hex'),
      bytes('3333ff123456 12aabbcc000a 8100 0ffe 86dd').toString('hex'),
    );
    const [header, message] = [frame.subarray(18, 58), frame.subarray(58)];
    assert.deepEqual([header[6], header[7], header.readUInt16BE(4)], [58, 255, message.length]);
    assert.equal(header.subarray(8, 24).toString('hex'), 'fe8000000000000010aabbfffecc000a');
    assert.equal(header.subarray(24).toString('hex'), 'ff0200000000000000000001ff123456');
    assert.equal(message.subarray(8, 24).toString('hex'), 'fd000030000000000000000000123456');
    assert.equal(sumOf(header, message), 0xffff);
  });
});

describe('announcements', () => {
  test('of IPv4 are requests for the address of their sender, with the tag or without', () => {
    const arp = `0001 0800 06 04 0001 ${owner} 0a1e0007 000000000000 0a1e0007`;
    const announced = { mac: '02:00:00:00:00:07', address: '10.30.0.7', isRouter: true };
    for (const [vlan, head] of [
      [10, '8100000a0806'],
      [undefined, '0806'],
    ] as const)
      assert.deepEqual(announcementFrame({ ...announced, vlan }), bytes('ffffffffffff', owner, head, arp));
  });

  test('of IPv6 are advertisements that replace what is known', () => {
    for (const [isRouter, flags] of [
      [true, 'a0'],
      [false, '20'],
    ] as const) {
      const frame = announcementFrame({ vlan: undefined, mac: '02:00:00:00:00:07', address: 'fd00:30::7', isRouter });
      assert.deepEqual(frame.subarray(0, 14), bytes('333300000001', owner, '86dd'));
      const [header, message] = [frame.subarray(14, 54), frame.subarray(54)];
      const ends = ['fe800000000000000000 00fffe000007', 'ff02'.padEnd(31, '0'), '1'];
      assert.deepEqual(header, bytes('60000000', '0020', '3a', 'ff', ...ends));
      const address = 'fd000030000000000000000000000007';
      assert.deepEqual(message.subarray(4), bytes(flags, '000000', address, '0201', owner));
      assert.equal(message.subarray(0, 2).toString('hex'), '8800');
      assert.equal(sumOf(header, message), 0xffff);
    }
  });
});

/** Of a message with its checksum. */
function sumOf(header: Buffer, message: Buffer): number {
  const summed = Buffer.concat([header.subarray(8), Buffer.from([0, 0, 0, message.length, 0, 0, 0, 58]), message]);
  let sum = 0;
  for (let at = 0; at < summed.length; at += 2) sum += summed.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

describe('answers', () => {
  const arp = bytes('0001 0800 06 04 0002 020000000007 0a1e0007', own, '00000000');
  const expected = { to: own, address: bytes('0a1e0007'), mac: owner };

  test('of ARP, with the tag and without', () => {
    for (const head of ['8100000a0806', '0806'])
      assert.deepEqual(readNeighbourAnswer(bytes(own, owner, head, arp.toString('hex'), '0000')), expected);
  });

  test('of neighbour discovery name the owner in their option', () => {
    const address = 'fd000030000000000000000000000007';
    const message = bytes('88000000 60000000', address, '0201', owner);
    const header = bytes('60000000 0020 3a ff', 'fe80'.padEnd(32, '0'), 'fe80'.padEnd(32, '1'));
    const frame = bytes(own, '0e0000000001 86dd', header.toString('hex'), message.toString('hex'));
    assert.deepEqual(readNeighbourAnswer(frame), { to: own, address: bytes(address), mac: owner });
    assert.equal(readNeighbourAnswer(frame.subarray(0, frame.length - 8)), undefined, 'without the option');
  });

  test('nothing else is one: questions, other packets, frames cut short', () => {
    const question = Buffer.from(arp);
    question[7] = 1;
    for (const body of [question, arp.subarray(0, 27), Buffer.alloc(0)])
      assert.equal(readNeighbourAnswer(bytes(own, owner, '0806', body.toString('hex'))), undefined);
    assert.equal(readNeighbourAnswer(bytes(own, owner, '0800', arp.toString('hex'))), undefined);
    assert.equal(readNeighbourAnswer(bytes(own, '81')), undefined);
    assert.equal(readNeighbourAnswer(bytes(own, owner, '8100000a')), undefined);
  });
});
