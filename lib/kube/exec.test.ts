import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { KubeApiError, KubeUnreachable } from './errors.ts';
import { openExec, type CommandResult } from './exec.ts';
import { acceptUpgrade, channelMessage, serveExec, serverFrame, statusOf } from './testing-exec.ts';

describe('a command in a pod', () => {
  let server: Server;
  const sockets = new Set<Duplex>();
  beforeEach(async () => {
    server = createServer();
    server.on('connection', (socket) => sockets.add(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server.close();
  });

  function run(command: readonly string[], signal = AbortSignal.timeout(60_000)): Promise<CommandResult> {
    const { port } = server.address() as AddressInfo;
    const cluster = { server: `http://127.0.0.1:${port}/base/`, 'insecure-skip-tls-verify': true };
    const content = {
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [{ name: 'a', cluster }],
      users: [{ name: 'a', user: { token: 'secret' } }],
    };
    const exec = openExec({ kubeconfig: { source: 'test', content }, userAgent: 'test' });
    return exec({ namespace: 'ns', pod: 'p', container: 'c', command, signal });
  }

  /** Answers the next command by hand. */
  function answer(how: (socket: Duplex) => void): void {
    server.once('upgrade', (request, socket: Duplex) => {
      acceptUpgrade(request, socket);
      how(socket);
    });
  }

  test('gets its words as they are, and gives output and exit code', async () => {
    const asked: unknown[] = [];
    server.on('upgrade', ({ url = '', headers }) => asked.push(headers.authorization, new URL(url, 'http://x').search));
    serveExec(server, (command, path) => Promise.resolve({ stdout: command.join('\n'), stderr: path, exitCode: 3 }));
    const words = ['ovn-trace', '--ct=new', 'inport == "a" && ip4; $(id) `id` ä'];
    const result = await run(words);
    assert.deepEqual(result, {
      stdout: words.join('\n'),
      stderr: '/base/api/v1/namespaces/ns/pods/p/exec',
      exitCode: 3,
    });
    const query = `?container=c&stdout=true&stderr=true&${words.map((word) => new URLSearchParams({ command: word }).toString()).join('&')}`;
    assert.deepEqual(asked, ['Bearer secret', query]);
  });

  test('is read in whatever pieces the bytes come', async () => {
    const long = 'x'.repeat(70_000);
    const frames = [
      serverFrame(channelMessage(1, 'a'), { isFinal: false }),
      serverFrame(Buffer.from('ping'), { opcode: 9 }),
      serverFrame(Buffer.from('b'), { opcode: 0 }),
      serverFrame(channelMessage(2, 'y'.repeat(300))),
      serverFrame(channelMessage(1, long)),
      serverFrame(channelMessage(3, statusOf(0))),
    ];
    answer((socket) => {
      const bytes = Buffer.concat(frames);
      for (let at = 0; at < bytes.length; at += at < 400 ? 1 : 9973)
        socket.write(bytes.subarray(at, at + (at < 400 ? 1 : 9973)));
    });
    const { stdout, stderr, exitCode } = await run(['x']);
    assert.deepEqual([stdout === `ab${long}`, stderr.length, exitCode], [true, 300, 0]);
  });

  test('that the server refuses is an error with its words', async () => {
    server.on('upgrade', (_, socket: Duplex) => {
      const body = JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'pods "p" is forbidden' });
      socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    await assert.rejects(run(['x']), (error) => {
      assert.ok(error instanceof KubeApiError);
      assert.deepEqual([error.status, error.reason], [403, 'Forbidden']);
      assert.match(error.message, /pods "p" is forbidden$/);
      return true;
    });
  });

  test('that does not start, or whose connection is lost, is an error', async () => {
    answer((socket) =>
      socket.write(
        serverFrame(channelMessage(3, JSON.stringify({ status: 'Failure', code: 500, message: 'no such program' }))),
      ),
    );
    await assert.rejects(run(['x']), /no such program/);
    answer((socket) => socket.end(serverFrame(channelMessage(1, 'half'))));
    await assert.rejects(run(['x']), KubeUnreachable);
    answer((socket) => socket.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0])));
    await assert.rejects(run(['x']), /must not mask/);
    answer((socket) => socket.write(Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0])));
    await assert.rejects(run(['x']), /too long/);
  });

  test('ends with its signal', async () => {
    const stop = new AbortController();
    answer(() => stop.abort(new Error('stopped')));
    await assert.rejects(run(['x'], stop.signal), /^Error: stopped$/);
    await assert.rejects(run(['x'], stop.signal), /^Error: stopped$/);
  });
});
