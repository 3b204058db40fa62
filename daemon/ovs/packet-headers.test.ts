import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ipBytes } from '../../lib/netlink/message.ts';
import { randomOf } from '../../lib/testing-random.ts';
import { u16 } from './openflow-codec.ts';
import { readHeaders } from './packet-headers.ts';

const macs = Buffer.alloc(12);
const ports = Buffer.concat([u16(40000), u16(53)]);

function v4(protocol: number, rest: Buffer, { fragment = 0, options = 0, to = '10.16.0.9' } = {}): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt8(0x45 + options, 0);
  head.writeUInt16BE(fragment, 6);
  head.writeUInt8(protocol, 9);
  return Buffer.concat([u16(0x0800), head, ipBytes('10.16.0.7'), ipBytes(to), Buffer.alloc(4 * options), rest]);
}

function v6(next: number, rest: Buffer, to = 'fd00:10::9'): Buffer {
  const head = Buffer.from([0x60, 0, 0, 0, 0, 0, next, 64]);
  return Buffer.concat([u16(0x86dd), head, ipBytes('fd00:10::7'), ipBytes(to), rest]);
}

const read = (...parts: readonly Buffer[]) => readHeaders(Buffer.concat([macs, ...parts]));
const ends4 = { source: '10.16.0.7', destination: '10.16.0.9', isMulticast: false };
const ends6 = { source: 'fd00:10::7', destination: 'fd00:10::9', isMulticast: false };

describe('headers of a packet', () => {
  it('have addresses, the protocol and the destination port', () => {
    assert.deepEqual(read(v4(17, ports)), { ...ends4, protocol: 'UDP', port: 53 });
    assert.deepEqual(read(v4(6, ports, { options: 2 })), { ...ends4, protocol: 'TCP', port: 53 });
    assert.deepEqual(read(v6(132, ports)), { ...ends6, protocol: 'SCTP', port: 53 });
    assert.deepEqual(read(v4(1, ports)), { ...ends4, protocol: 'ICMP', port: undefined });
    assert.deepEqual(read(v6(58, ports)), { ...ends6, protocol: 'ICMPv6', port: undefined });
    assert.deepEqual(read(v4(47, ports)), { ...ends4, protocol: 'IP protocol 47', port: undefined });
  });

  it('are behind VLAN tags and extension headers', () => {
    const tag = Buffer.concat([u16(0x8100), u16(7)]);
    assert.deepEqual(read(tag, v4(17, ports)), { ...ends4, protocol: 'UDP', port: 53 });
    assert.equal(read(tag, tag, tag, v4(17, ports)), undefined);
    const extension = (next: number, units: number) => Buffer.from([next, units, ...Array(6 + 8 * units).fill(0)]);
    const rest = Buffer.concat([extension(60, 0), extension(51, 1), Buffer.from([17, 2, ...Array(14).fill(0)]), ports]);
    assert.deepEqual(read(v6(0, rest)), { ...ends6, protocol: 'UDP', port: 53 });
  });

  it('have no port in later fragments', () => {
    assert.deepEqual(read(v4(17, ports, { fragment: 5 })), { ...ends4, protocol: 'UDP', port: undefined });
    assert.deepEqual(read(v4(17, ports, { fragment: 0x2000 })), { ...ends4, protocol: 'UDP', port: 53 });
    const piece = (offset: number) => Buffer.concat([Buffer.from([6, 0]), u16(offset), Buffer.alloc(4), ports]);
    assert.deepEqual(read(v6(44, piece(8))), { ...ends6, protocol: 'TCP', port: undefined });
    assert.deepEqual(read(v6(44, piece(1))), { ...ends6, protocol: 'TCP', port: 53 });
  });

  it('tell packets for several hosts', () => {
    for (const packet of [v4(17, ports, { to: '224.0.0.251' }), v4(17, ports, { to: '255.255.255.255' })])
      assert.equal(read(packet)?.isMulticast, true);
    assert.equal(read(v6(58, ports, 'ff02::16'))?.isMulticast, true);
    const broadcast = Buffer.concat([Buffer.alloc(6, 0xff), Buffer.alloc(6), v4(17, ports)]);
    assert.equal(readHeaders(broadcast)?.isMulticast, true);
  });

  it('are read from any bytes without an error', () => {
    assert.equal(read(u16(0x0806), Buffer.alloc(28)), undefined);
    const random = randomOf(3);
    for (let round = 0; round < 2000; round += 1) {
      const whole =
        random(2) === 0
          ? v4(random(256), ports)
          : v6([0, 43, 44, 51, 60, 135][random(6)] ?? 0, Buffer.alloc(40, random(256)));
      const frame = Buffer.concat([macs, whole]);
      frame.writeUInt8(random(256), 12 + random(whole.length));
      readHeaders(frame.subarray(0, random(frame.length + 1)));
    }
  });
});
