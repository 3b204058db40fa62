/** Replies of a bridge to requests for the counters of flows, a bridge that gives them, and packets that it sends to controllers. */
import { createServer, type Server } from 'node:net';
import { message, messageType, readMessages } from './ovs/openflow-codec.ts';

/** Fields of matches, in hexadecimal. */
export const outPortField = (port: number): string => `80010f1000000000${hex(port, 4)}00000000ffffffff`;
export const inPortField = (port: number): string => `80010f10${hex(port, 4)}00000000ffffffff00000000`;
export const datapathField = (key: number): string => `80000408${hex(key, 8)}`;
/** Fields of statistics. */
export const ageField = (seconds: number): string => `80020008${hex(seconds, 4)}1dcd6500`;
export const packetsField = (packets: number): string => `80020808${hex(packets, 8)}`;
/** The instruction to send to a port. */
export const outputTo = (port: number): string => `000400180000000000000010${hex(port, 4)}ffff000000000000`;

function hex(value: number, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, '0');
}

function padded(text: string): string {
  return text.padEnd(Math.ceil(text.length / 16) * 16, '0');
}

/** A description of a flow: fixed fields, match, statistics, instructions. */
export function description(cookie: number, match: string, stats: string, instructions = '', table = 46): string {
  const fields = padded(`0001${hex(4 + match.length / 2, 2)}${match}`);
  const counters = padded(`0000${hex(4 + stats.length / 2, 2)}${stats}`);
  const length = 24 + (fields.length + counters.length + instructions.length) / 2;
  return `${hex(length, 2)}0000${hex(table, 1)}000bb8${'00'.repeat(8)}${hex(cookie, 8)}${fields}${counters}${instructions}`;
}

export function replyBody(flags: string, ...flows: readonly string[]): Buffer {
  return Buffer.from(`0001${flags}00000000${flows.join('')}`, 'hex');
}

/** A packet for controllers from table 46, with a cookie, the fields of its match and the frame in hexadecimal. */
export function packetIn(cookie: number, fields: string, frame: string): Buffer {
  const match = Buffer.from(fields, 'hex');
  const head = Buffer.alloc(20);
  head.writeUInt32BE(0xffff_ffff, 0);
  head.writeUInt8(46, 7);
  head.writeBigUInt64BE(BigInt(cookie), 8);
  head.writeUInt16BE(1, 16);
  head.writeUInt16BE(4 + match.length, 18);
  const padding = Buffer.alloc(((8 - ((4 + match.length) % 8)) % 8) + 2);
  return message(messageType.packetIn, Buffer.concat([head, match, padding, Buffer.from(frame, 'hex')]));
}

/** Serves `flows` by cookie, each in a message of its own, and `ports` as the flows of a table. */
export async function serveFlows(
  path: string,
  flows: () => ReadonlyMap<number, readonly string[]>,
  ports: readonly string[],
): Promise<Server> {
  const server = createServer((socket) => {
    let bytes: Buffer = Buffer.alloc(0);
    socket.write(message(messageType.hello));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      const { messages, rest } = readMessages(Buffer.concat([bytes, chunk]));
      bytes = rest;
      for (const { type, xid, body } of messages) {
        if (type !== messageType.multipartRequest) continue;
        const isOfTable = body.readUInt8(8) !== 0xff;
        const found = isOfTable ? ports : (flows().get(Number(body.readBigUInt64BE(24))) ?? []);
        for (const one of found) socket.write(message(messageType.multipartReply, replyBody('0001', one), xid));
        socket.write(message(messageType.multipartReply, replyBody('0000'), xid));
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  return server;
}
