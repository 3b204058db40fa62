/** A DNS server for tests: by datagrams and streams, at a port of loopback that the kernel chooses. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { parseIp } from '../net/ip.ts';
import type { DnsServer } from './ask.ts';

export interface Zone {
  /** Seconds. */
  readonly ttl?: number;
  /** Addresses of both families. */
  readonly addresses?: readonly string[];
  /** Another name, whose records are in the same answer. */
  readonly alias?: string;
}

const types = { a: 1, cname: 5, soa: 6, aaaa: 28 } as const;

function nameBytes(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]);
  return Buffer.concat([...labels, Buffer.of(0)]);
}

/** A record as bytes. */
export function recordBytes(owner: string, type: number, ttl: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(owner), fixed, data]);
}

function addressBytes(address: string): Buffer {
  const { family, value } = parseIp(address) ?? { family: 4, value: 0n };
  return Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex');
}

/** A message that answers a question message. @param flags 0x8180: all is well */
export function replyBytes(
  question: Buffer,
  {
    flags = 0x8180,
    answers = [],
    authorities = [],
  }: { flags?: number; answers?: readonly Buffer[]; authorities?: readonly Buffer[] },
): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const head = Buffer.from(question.subarray(0, end));
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(answers.length, 6);
  head.writeUInt16BE(authorities.length, 8);
  head.writeUInt16BE(0, 10);
  return Buffer.concat([head, ...answers, ...authorities]);
}

function questionOf(message: Buffer): { readonly name: string; readonly type: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1) };
}

export class TestDns {
  /** What names are; others do not exist. */
  readonly zones = new Map<string, Zone>();
  readonly server: DnsServer;
  /** Questions received, as `type name`. */
  readonly asked: string[] = [];
  /** While set, no question is answered. */
  isSilent = false;
  /** Longer answers come by streams. */
  mostBytes = 1232;
  readonly #close: () => Promise<void>;

  private constructor(server: DnsServer, close: () => Promise<void>) {
    this.server = server;
    this.#close = close;
  }

  static async start(): Promise<TestDns> {
    const streams = createServer();
    streams.listen(0, '127.0.0.1');
    await once(streams, 'listening');
    const { port } = streams.address() as AddressInfo;
    const datagrams = createSocket('udp4');
    datagrams.bind(port, '127.0.0.1');
    await once(datagrams, 'listening');
    const dns: TestDns = new TestDns({ address: '127.0.0.1', port }, async () => {
      datagrams.close();
      streams.close();
      await once(streams, 'close');
    });
    datagrams.on('message', (message, { address, port: client }) => {
      const reply = dns.#answer(message);
      if (reply === undefined) return;
      const isLong = reply.length > dns.mostBytes;
      datagrams.send(isLong ? replyBytes(message, { flags: 0x8380 }) : reply, client, address);
    });
    streams.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        const reply = dns.#answer(bytes.subarray(2));
        if (reply === undefined) return;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(reply.length);
        // In two parts, as a network may deliver them.
        socket.write(Buffer.concat([length, reply.subarray(0, 5)]));
        socket.end(reply.subarray(5));
      });
    });
    return dns;
  }

  close(): Promise<void> {
    return this.#close();
  }

  #answer(message: Buffer): Buffer | undefined {
    const { name, type } = questionOf(message);
    this.asked.push(`${type === types.a ? 'A' : 'AAAA'} ${name}`);
    if (this.isSilent) return undefined;
    const start = recordBytes(
      'test',
      types.soa,
      60,
      Buffer.concat([nameBytes('ns.test'), nameBytes('x.test'), Buffer.alloc(16), Buffer.of(0, 0, 0, 1)]),
    );
    const zone = this.zones.get(name);
    if (zone === undefined) return replyBytes(message, { flags: 0x8183, authorities: [start] });
    const answers = this.#recordsOf(name, type);
    return replyBytes(message, { answers, authorities: answers.length === 0 ? [start] : [] });
  }

  #recordsOf(name: string, type: number): readonly Buffer[] {
    const { ttl = 1, addresses = [], alias } = this.zones.get(name) ?? {};
    if (alias !== undefined)
      return [recordBytes(name, types.cname, ttl, nameBytes(alias)), ...this.#recordsOf(alias, type)];
    return addresses
      .filter((address) => address.includes(':') === (type === types.aaaa))
      .map((address) => recordBytes(name, type, ttl, addressBytes(address)));
  }
}
