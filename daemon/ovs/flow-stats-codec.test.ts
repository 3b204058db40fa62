import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askByCookie, readFlowReply } from './flow-stats-codec.ts';
import { messageType } from './openflow-codec.ts';

const bytes = (...parts: readonly string[]): Buffer => Buffer.from(parts.join('').replaceAll(' ', ''), 'hex');

/** A description of a flow: fixed fields, match, statistics, instructions. */
function description(cookie: string, match: string, stats: string, instructions = ''): string {
  const matchBytes = 4 + match.length / 2;
  const statsBytes = 4 + stats.length / 2;
  const hex = (value: number): string => value.toString(16).padStart(4, '0');
  const pad = (text: string): string => text.padEnd(Math.ceil(text.length / 16) * 16, '0');
  const rest = `${pad(`0001${hex(matchBytes)}${match}`)}${pad(`0000${hex(statsBytes)}${stats}`)}${instructions}`;
  return `${hex(24 + rest.length / 2)}0000 2e00 0bb8 0000 0000 0000 0000 00000000${cookie}${rest}`.replaceAll(' ', '');
}

const reply = (flags: string, ...flows: readonly string[]): Buffer => bytes(`0001${flags}00000000`, ...flows);
const age = '80020008 00000002 1dcd6500'.replaceAll(' ', '');
const packets = '80020808 0000000000000005'.replaceAll(' ', '');
const datapath = '80000408 0000000000000003'.replaceAll(' ', '');

describe('counters of flows', () => {
  it('are requested by cookie, in all tables', () => {
    const fields = ['ff000000', 'ffffffff', 'ffffffff', '00000000', '00000000fedcba98', 'ffffffffffffffff'];
    const expected = bytes('0612003800000007', '0001000000000000', ...fields, '0001000400000000');
    assert.equal(askByCookie(0xfedcba98, 7).toString('hex'), expected.toString('hex'));
  });

  it('are read with the port that a flow is for', () => {
    const ofOutPort = '80010f10 0000000000000002 00000000ffffffff'.replaceAll(' ', '');
    const ofInPort = '80010f10 0000000100000000 ffffffff00000000'.replaceAll(' ', '');
    const alone = '00011e04 00000009'.replaceAll(' ', '');
    const flows = [ofOutPort, ofInPort, alone].map((match) => description('fedcba98', match + datapath, age + packets));
    const read = readFlowReply({ type: messageType.multipartReply, xid: 0, body: reply('0001', ...flows) });
    assert.equal(read.hasMore, true);
    const common = { flow: '', cookie: 0xfedcba98, ageMs: 2500, packets: 5, datapath: 3, output: undefined };
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
    const output = '0004001800000000 0000001000000007ffff000000000000'.replaceAll(' ', '');
    const body = reply('0000', description('00000001', datapath, packets, output));
    const { flows, hasMore } = readFlowReply({ type: messageType.multipartReply, xid: 0, body });
    assert.equal(hasMore, false);
    assert.equal(flows[0]?.output, 7);
  });

  it('are not read from what is no description', () => {
    const body = reply('0000', '0000000000000000');
    assert.throws(() => readFlowReply({ type: messageType.multipartReply, xid: 0, body }), RangeError);
    assert.throws(() => readFlowReply({ type: messageType.error, xid: 0, body: bytes('00010002') }), RangeError);
  });
});
