import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { KeyedLock } from './keyed-lock.ts';
import { decodeAnswer, encodeRequest, type ShimRequest } from './protocol.ts';
import { openCniServer } from './server.ts';

const dir = mkdtempSync(join(tmpdir(), 'cni-'));
after(() => rmSync(dir, { recursive: true }));
const request: ShimRequest = { environment: new Map([['CNI_COMMAND', 'DEL']]), stdin: '{"ä":1}' };

test('a request that arrives in pieces is answered once, and only root may connect', async () => {
  const socketPath = join(dir, 'pieces.sock');
  const seen: ShimRequest[] = [];
  const answer = (one: ShimRequest): Promise<{ exitStatus: number; stdout: string }> => {
    seen.push(one);
    return Promise.resolve({ exitStatus: 3, stdout: 'ö' });
  };
  const server = await openCniServer({ socketPath, answer, onMalformed: assert.fail });
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  const socket = connect(socketPath);
  for (const byte of encodeRequest(request)) {
    socket.write(Buffer.from([byte]));
    await turn();
  }
  assert.deepEqual(decodeAnswer(await buffer(socket)), { exitStatus: 3, stdout: 'ö' });
  assert.deepEqual(seen, [request]);
  await server.close();
});

test('a client that goes away aborts its request', async () => {
  const socketPath = join(dir, 'gone.sock');
  const started = Promise.withResolvers<AbortSignal>();
  const server = await openCniServer({
    socketPath,
    answer: async (_, signal) => {
      started.resolve(signal);
      await once(signal, 'abort');
      return { exitStatus: 1, stdout: '' };
    },
    onMalformed: assert.fail,
  });
  const socket = connect(socketPath);
  socket.write(encodeRequest(request));
  const signal = await started.promise;
  socket.destroy();
  if (!signal.aborted) await once(signal, 'abort');
  await server.close();
});

test('a client that does not speak the protocol is disconnected and logged', async () => {
  const socketPath = join(dir, 'http.sock');
  const malformed: Error[] = [];
  const server = await openCniServer({
    socketPath,
    answer: () => assert.fail(),
    onMalformed: (error) => malformed.push(error),
  });
  const socket = connect(socketPath);
  socket.write('GET / HTTP/1.1\r\n\r\n');
  assert.equal((await buffer(socket)).length, 0);
  assert.match(malformed[0]?.message ?? '', /starts with "GET \/ HT"/);
  await server.close();
});

test('work of one key runs in order of arrival, also after a failure; other keys do not wait', async () => {
  const lock = new KeyedLock();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = lock.run('a', async () => {
    await gate.promise;
    log.push('a1');
    throw new Error('a1 failed');
  });
  const second = lock.run('a', async () => void log.push('a2'));
  await lock.run('b', async () => void log.push('b'));
  gate.resolve();
  await assert.rejects(first, /a1 failed/);
  await second;
  assert.deepEqual(log, ['b', 'a1', 'a2']);
});
