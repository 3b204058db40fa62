import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ageField,
  datapathField,
  description,
  inPortField,
  outPortField,
  outputTo,
  packetsField,
  replyBody,
} from '../testing-flow-stats.ts';
import { askByCookie, readFlowReply } from './flow-stats-codec.ts';
import { messageType } from './openflow-codec.ts';

const bytes = (...parts: readonly string[]): Buffer => Buffer.from(parts.join('').replaceAll(' ', ''), 'hex');

describe('counters of flows', () => {
  it('are requested by cookie, in all tables', () => {
    const fields = ['ff000000', 'ffffffff', 'ffffffff', '00000000', '00000000fedcba98', 'ffffffffffffffff'];
    const expected = bytes('0612003800000007', '0001000000000000', ...fields, '0001000400000000');
    assert.equal(askByCookie(0xfedcba98, 7).toString('hex'), expected.toString('hex'));
  });

  it('are read with the port that a flow is for', () => {
    const alone = '00011e0400000009';
    const flows = [outPortField(2), inPortField(1), alone].map((match) =>
      description(0xfedcba98, match + datapathField(3), ageField(2) + packetsField(5)),
    );
    const read = readFlowReply({ type: messageType.multipartReply, xid: 0, body: replyBody('0001', ...flows) });
    assert.equal(read.hasMore, true);
    const common = { flow: '', table: 46, cookie: 0xfedcba98, ageMs: 2500, packets: 5, datapath: 3, output: undefined };
    assert.deepEqual(
      read.flows.map((one) => ({ ...one, flow: '' })),
      [
        { ...common, outPort: 2 },
        { ...common, inPort: 1 },
        { ...common, outPort: 9 },
      ],
    );
    assert.equal(new Set(read.flows.map(({ flow }) => flow)).size, 3);
  });

  it('come with the port of the bridge to which a flow sends', () => {
    const body = replyBody('0000', description(1, datapathField(3), packetsField(5), outputTo(7)));
    const { flows, hasMore } = readFlowReply({ type: messageType.multipartReply, xid: 0, body });
    assert.equal(hasMore, false);
    assert.equal(flows[0]?.output, 7);
  });

  it('are not read from what is no description', () => {
    const body = replyBody('0000', '0000000000000000');
    assert.throws(() => readFlowReply({ type: messageType.multipartReply, xid: 0, body }), RangeError);
    assert.throws(() => readFlowReply({ type: messageType.error, xid: 0, body: bytes('00010002') }), RangeError);
  });
});
