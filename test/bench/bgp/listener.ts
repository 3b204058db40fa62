/**
 * A BGP neighbour that only listens, as a process of its own in a network namespace: it accepts one session and counts the
 * prefixes of every UPDATE. Any line on its input is answered with `announced withdrawn updates sessions`.
 * Arguments: the AS of this side, the address to listen on.
 */
import { createServer, type Socket } from 'node:net';

const [as = '', address = ''] = process.argv.slice(2);
const type = { open: 1, update: 2, keepalive: 4 } as const;
const headerBytes = 19;
const keepaliveMs = 10_000;
const counts = { announced: 0, withdrawn: 0, updates: 0, sessions: 0 };

function message(kind: number, body: Uint8Array = new Uint8Array()): Buffer {
  const header = Buffer.alloc(headerBytes, 0xff);
  header.writeUInt16BE(headerBytes + body.length, 16);
  header[18] = kind;
  return Buffer.concat([header, body]);
}

/** With IPv4 unicast and four-byte AS numbers (RFC 5492, 4760, 6793). */
function open(): Buffer {
  const capabilities = Buffer.of(2, 12, 1, 4, 0, 1, 0, 1, 65, 4, 0, 0, 0, 0);
  capabilities.writeUInt32BE(Number(as), 10);
  const head = Buffer.of(4, 0, 0, 0, 90, ...address.split('.').map(Number), capabilities.length);
  head.writeUInt16BE(Number(as), 1);
  return message(type.open, Buffer.concat([head, capabilities]));
}

/** RFC 4271 §4.3: each prefix is its length in bits and as many bytes as that needs. */
function prefixesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; count += 1) at += 1 + Math.ceil((bytes[at] ?? 0) / 8);
  return count;
}

function onUpdate(body: Buffer): void {
  const withdrawn = body.readUInt16BE(0);
  const attributes = body.readUInt16BE(2 + withdrawn);
  counts.updates += 1;
  counts.withdrawn += prefixesIn(body.subarray(2, 2 + withdrawn));
  counts.announced += prefixesIn(body.subarray(4 + withdrawn + attributes));
}

function onMessage(socket: Socket, kind: number, body: Buffer): void {
  if (kind === type.update) onUpdate(body);
  if (kind !== type.open) return;
  counts.sessions += 1;
  socket.write(Buffer.concat([open(), message(type.keepalive)]));
}

createServer((socket) => {
  let rest = Buffer.alloc(0);
  const timer = setInterval(() => socket.write(message(type.keepalive)), keepaliveMs);
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const length = rest.length < headerBytes ? Number.POSITIVE_INFINITY : rest.readUInt16BE(16);
      if (rest.length < length) return;
      onMessage(socket, rest[18] ?? 0, rest.subarray(headerBytes, length));
      rest = rest.subarray(length);
    }
  });
  socket.on('error', () => undefined);
  socket.on('close', () => clearInterval(timer));
}).listen(179, address);

process.stdin.on('data', () => {
  const { announced, withdrawn, updates, sessions } = counts;
  process.stdout.write(`${announced} ${withdrawn} ${updates} ${sessions}\n`);
});
process.stdin.on('end', () => process.exit());
