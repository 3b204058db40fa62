import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../lib/testing-eventually.ts';
import type { PacketIn } from '../model/packet-in.ts';
import { datapathField, inPortField, outPortField, packetIn } from '../testing-flow-stats.ts';
import { message, messageType } from './openflow-codec.ts';
import { PacketIns } from './packet-ins.ts';

/** A bridge that keeps its connections and what it was asked. */
async function bed(t: { after: (end: () => void) => void }, perSecond?: number) {
  const dir = mkdtempSync(join(tmpdir(), 'packets-'));
  const path = join(dir, 'br-int.mgmt');
  const sockets: Socket[] = [];
  const asked: Buffer[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.write(message(messageType.hello));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => asked.push(chunk));
  });
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  const packets: PacketIn[] = [];
  const warnings: string[] = [];
  const log = { warn: (_: unknown, text: string) => warnings.push(text) } as never;
  const reader = new PacketIns({ path, onPacket: (one) => packets.push(one), log, ...(perSecond && { perSecond }) });
  t.after(() => {
    reader.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  await eventually('the bridge was asked for packets', () => reader.isUp && Buffer.concat(asked).length > 8);
  return { reader, sockets, asked, packets, warnings };
}

describe('packets for controllers', () => {
  it('come with the ports of OVN', async (t) => {
    const { sockets, packets } = await bed(t);
    const fields = datapathField(3) + inPortField(1) + outPortField(2);
    const whole = Buffer.concat([packetIn(0xfedcba98, fields, 'aabb'), packetIn(7, '', '')]);
    sockets[0]?.write(whole.subarray(0, 50));
    sockets[0]?.write(whole.subarray(50));
    await eventually('both are there', () => packets.length === 2);
    assert.deepEqual(packets, [
      { cookie: 0xfedcba98, table: 46, datapath: 3, inPort: 1, outPort: 2, frame: Buffer.from('aabb', 'hex') },
      { cookie: 7, table: 46, frame: Buffer.alloc(0) },
    ]);
  });

  it('are not read for the rest of a second when there are too many', async (t) => {
    const { sockets, packets } = await bed(t, 10);
    const beganMs = performance.now();
    for (let sent = 0; sent < 35; sent += 1) {
      sockets[0]?.write(packetIn(sent, '', 'aa'.repeat(60_000)));
    }
    await eventually('all are there', () => packets.length === 35);
    assert.ok(performance.now() - beganMs > 2000, `${performance.now() - beganMs} ms`);
  });

  it('come again after the bridge sent nonsense, and after it was gone', async (t) => {
    const { reader, sockets, packets, warnings } = await bed(t);
    sockets[0]?.write(message(messageType.packetIn, Buffer.alloc(18)));
    await eventually('there is a second connection', () => sockets.length === 2 && reader.isUp);
    sockets[1]?.destroy();
    await eventually('there is a third connection', () => sockets.length === 3 && reader.isUp);
    sockets[2]?.write(packetIn(1, '', ''));
    await eventually('a packet is there', () => packets.length === 1);
    assert.equal(warnings.length, 2);
    assert.match(warnings[1] ?? '', /^samples of dropped packets: the connection to the bridge ended; trying again$/);
  });
});
