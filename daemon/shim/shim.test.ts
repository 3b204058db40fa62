import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { text } from 'node:stream/consumers';
import {
  decodeRequest,
  defaultSocket,
  encodeAnswer,
  magic,
  supportedVersions,
  type ShimRequest,
} from '../cni/protocol.ts';

const source = join(import.meta.dirname, 'shim.c');
const dir = mkdtempSync(join(tmpdir(), 'shim-'));
const binary = join(dir, 'isthmus-cni');

before(() => execFileSync('cc', ['-static', '-Os', '-Wall', '-Wextra', '-Werror', '-o', binary, source]));
after(() => rmSync(dir, { recursive: true }));

async function listen(name: string, onSocket: (socket: Socket) => void): Promise<{ path: string; server: Server }> {
  const path = join(dir, name);
  const server = createServer(onSocket);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { path, server };
}

async function runShim(
  socket: string,
  environment: Record<string, string>,
  stdin: string,
): Promise<{ status: number; stdout: string }> {
  const child = spawn(binary, [], {
    env: { ISTHMUS_SOCKET: socket, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(stdin);
  const exited = new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? -1)));
  const stdout = await text(child.stdout);
  return { status: await exited, stdout };
}

test('environment and stdin reach the daemon unchanged, its answer and status come back', async () => {
  let request: ShimRequest | undefined;
  const { path, server } = await listen('ok.sock', (socket) => {
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      request = decodeRequest(received);
      if (request !== undefined) socket.end(encodeAnswer({ exitStatus: 7, stdout: 'ä'.repeat(100_000) }));
    });
  });
  const stdin = JSON.stringify({ name: 'n', filler: 'ü'.repeat(60_000) });
  const answer = await runShim(path, { CNI_COMMAND: 'ADD', CNI_ARGS: 'A=1;B=ö=2', CNI_NETNS: '', PATH: '/bin' }, stdin);
  server.close();
  assert.deepEqual(answer, { status: 7, stdout: 'ä'.repeat(100_000) });
  assert.equal(request?.stdin, stdin);
  assert.deepEqual(
    [...(request?.environment ?? [])].toSorted(([a], [b]) => a.localeCompare(b)),
    [
      ['CNI_ARGS', 'A=1;B=ö=2'],
      ['CNI_COMMAND', 'ADD'],
      ['CNI_NETNS', ''],
    ],
  );
});

test('without a daemon it says "try again later" in the version of the configuration, naming the socket', async () => {
  const path = join(dir, 'nobody.sock');
  const answer = await runShim(path, { CNI_COMMAND: 'ADD' }, '{ "cniVersion" : "0.4.0", "name": "n" }');
  const error = JSON.parse(answer.stdout) as Record<string, unknown>;
  assert.equal(answer.status, 1);
  assert.equal(error['cniVersion'], '0.4.0');
  assert.equal(error['code'], 11);
  assert.match(String(error['details']), new RegExp(`${path}: No such file`));
});

test('a daemon that goes away in the middle is "try again later" too', async () => {
  const { path, server } = await listen('rude.sock', (socket) => socket.once('data', () => socket.destroy()));
  const answer = await runShim(path, { CNI_COMMAND: 'DEL' }, '');
  server.close();
  const error = JSON.parse(answer.stdout) as Record<string, unknown>;
  assert.deepEqual([answer.status, error['cniVersion'], error['code']], [1, '1.0.0', 11]);
});

test('VERSION is answered without a daemon, so that runtimes can probe', async () => {
  const answer = await runShim(join(dir, 'nobody.sock'), { CNI_COMMAND: 'VERSION' }, '{"cniVersion":"1.1.0"}');
  assert.equal(answer.status, 0);
  assert.deepEqual(JSON.parse(answer.stdout), { cniVersion: '1.1.0', supportedVersions: [...supportedVersions] });
});

test('shim.c and protocol.ts agree on their constants', () => {
  const code = readFileSync(source, 'utf8');
  assert.equal(/#define MAGIC "(.*)"/.exec(code)?.[1], magic);
  assert.equal(/#define DEFAULT_SOCKET "(.*)"/.exec(code)?.[1], defaultSocket);
  assert.equal(
    /#define SUPPORTED_VERSIONS "(.*)"/.exec(code)?.[1]?.replaceAll('\\"', '"'),
    supportedVersions.map((version) => `"${version}"`).join(','),
  );
});
