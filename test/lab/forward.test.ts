import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { freePorts } from '../../lib/testing-ports.ts';
import { killComponent, pidOf } from './component.ts';
import { startForward } from './forward.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const clients = 100;

describe('the forward to an API server', () => {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-forward-'));
  const names = ['api-outside', 'api-inside'];
  const server = createServer((socket) => socket.end('well'));
  let port = 0;

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    [port = 0] = await freePorts(1);
    await startForward({ dir, apiPort: port, target: (server.address() as AddressInfo).port });
    await eventually(
      'the way to be open',
      async () => (await answer(open()).catch(() => '')) === 'well' || notYet('closed'),
    );
  });
  after(async () => {
    for (const name of names) await killComponent({ dir, name });
    server.close();
    rmSync(dir, { recursive: true });
  });

  const open = (): Socket => connect({ port, host: '127.0.0.1' });
  const answer = (socket: Socket): Promise<string> => text(socket);

  async function whileFrozen<T>(name: string, act: () => Promise<T>): Promise<T> {
    const pid = pidOf({ dir, name }) ?? assert.fail(`${name} is dead`);
    process.kill(pid, 'SIGSTOP');
    try {
      return await act();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  // On a busy machine any process may be late to accept.
  it('queues a hundred clients while the outer listener accepts none', async () => {
    const sockets = await whileFrozen('api-outside', async () => {
      const opened = Array.from({ length: clients }, open);
      await Promise.all(opened.map((socket) => once(socket, 'connect')));
      return opened;
    });
    assert.deepEqual(new Set(await Promise.all(sockets.map(answer))), new Set(['well']));
  });

  it('drops none of a hundred clients while the half in the namespace accepts none', async () => {
    const answers = await whileFrozen('api-inside', async () => {
      const sockets = Array.from({ length: clients }, open);
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      return sockets.map(answer);
    });
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(['well']));
  });
});
