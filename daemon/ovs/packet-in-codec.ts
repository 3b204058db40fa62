/** Decodes packets that flows send to controllers (OpenFlow 1.5, Open Networking Foundation TS-025, 7.4.1). Pure. */
import type { PacketIn } from '../model/packet-in.ts';
import { readPort } from './flow-stats-codec.ts';
import type { Message } from './openflow-codec.ts';

const matchAt = 16;
const padding = 2;

/** @throws RangeError if the message ends too early */
export function readPacketIn({ body }: Message): PacketIn {
  const matchBytes = body.readUInt16BE(matchAt + 2);
  const frameAt = matchAt + Math.ceil(matchBytes / 8) * 8 + padding;
  if (frameAt > body.length) throw new RangeError(`a packet whose match has ${matchBytes} bytes`);
  return {
    cookie: Number(body.readBigUInt64BE(8) & 0xffff_ffffn),
    table: body.readUInt8(7),
    ...readPort(body.subarray(matchAt + 4, matchAt + matchBytes)),
    frame: body.subarray(frameAt),
  };
}
