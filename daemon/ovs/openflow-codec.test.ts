import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addCopy, addDrop, message, messageType, packetOut, readMessages } from './openflow-codec.ts';

test('a flow as ovs-ofctl -O OpenFlow15 would send it', () => {
  const match = { etherType: 0x86dd, ipProtocol: 58, icmp6Type: 134 };
  const bytes = addDrop({ inPort: 3, match, cookie: 0x6973_7468_0001_0003n }).toString('hex');
  const header = '060e005000000000';
  const body = ['6973746800010003', '0000000000000000', '0000', '00000000', 'ea60', 'ffffffff', 'ffffffff', 'ffffffff'];
  const fields = ['80000004', '00000003', '80000a02', '86dd', '80001401', '3a', '80003a01', '86'];
  assert.equal(bytes, `${header}${body.join('')}000100000001001c${fields.join('')}00000000`);
});

test('a flow that copies packets and sends them through the table again', () => {
  const match = { etherType: 0x0800, ipProtocol: 17, udpDestination: 53 };
  const bytes = addCopy({ inPort: 3, match, cookie: 0x6973_7468_0001_0003n }, 0x646e).toString('hex');
  const fields = '800000040000000380000408000000000000000080000a0208008000140111800020020035';
  const actions = [
    // controller(max_len=512,id=25710)
    'ffff00100000232000140200646e0100',
    // set_field:0xffffffff->metadata
    '001900108000040800000000ffffffff',
    // resubmit(in_port,0)
    'ffff001000002320000efff800000000',
  ];
  const body = `6973746800010003${'0'.repeat(16)}000000000000c350${'f'.repeat(24)}00010000`;
  assert.equal(bytes, `060e009800000000${body}00010029${fields}${'0'.repeat(14)}0004003800000000${actions.join('')}`);
});

test('messages that come in pieces are read when they are whole', () => {
  const [hello, echo] = [message(messageType.hello), message(messageType.echoRequest, Buffer.from('ab'), 9)];
  const both = Buffer.concat([hello, echo]);
  const { messages, rest } = readMessages(both.subarray(0, 12));
  assert.deepEqual(
    messages.map(({ type }) => type),
    [messageType.hello],
  );
  assert.deepEqual(readMessages(Buffer.concat([rest, both.subarray(12)])).messages, [
    { type: messageType.echoRequest, xid: 9, body: Buffer.from('ab') },
  ]);
  assert.throws(() => readMessages(Buffer.from('0600000400000000', 'hex')), RangeError);
});

test('a frame that is sent by a port', () => {
  const bytes = packetOut(5, Buffer.from('ffffffffffff0a00000000010806', 'hex')).toString('hex');
  const match = '0001000c80000004fffffffd00000000';
  const output = '0000001000000005ffff000000000000';
  assert.equal(bytes, `060d003e00000000ffffffff00100000${match}${output}ffffffffffff0a00000000010806`);
});
