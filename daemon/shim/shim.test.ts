import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import {
  decodeRequest,
  defaultSocket,
  encodeAnswer,
  magic,
  supportedVersions,
  type ShimRequest,
} from '../cni/protocol.ts';
import { openCniServer } from '../cni/server.ts';

const source = join(import.meta.dirname, 'shim.c');
const dir = mkdtempSync(join(tmpdir(), 'shim-'));
const binary = join(dir, 'isthmus-cni');

/** A shim that waits a second for its answer. */
const impatient = join(dir, 'impatient');
/** A shim that waits a minute for a daemon. */
const patient = join(dir, 'patient');

before(() => {
  const flags = ['-static', '-Os', '-Wall', '-Wextra', '-Werror', source, '-o'];
  execFileSync('cc', [...flags, binary]);
  execFileSync('cc', ['-DANSWER_TIMEOUT_SECONDS=1', ...flags, impatient]);
  execFileSync('cc', ['-DCONNECT_TIMEOUT_SECONDS=60', ...flags, patient]);
});
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
  program = binary,
): Promise<{ status: number; stdout: string }> {
  const child = spawn(program, [], {
    env: { ISTHMUS_SOCKET: socket, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(stdin);
  const exited = new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? -1)));
  const stdout = await text(child.stdout);
  return { status: await exited, stdout };
}

test('the shim passes environment and stdin to the daemon unchanged, and returns its answer and exit status', async () => {
  let request: ShimRequest | undefined;
  const long = `{"name":"${'ä'.repeat(100_000)}"}\n`;
  const { path, server } = await listen('ok.sock', (socket) => {
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      request = decodeRequest(received);
      if (request !== undefined) socket.end(encodeAnswer({ exitStatus: 7, stdout: long }));
    });
  });
  const stdin = JSON.stringify({ name: 'n', filler: 'ü'.repeat(60_000) });
  const answer = await runShim(path, { CNI_COMMAND: 'ADD', CNI_ARGS: 'A=1;B=ö=2', CNI_NETNS: '', PATH: '/bin' }, stdin);
  server.close();
  assert.deepEqual(answer, { status: 7, stdout: long });
  assert.equal(request?.stdin, stdin);
  assert.deepEqual(
    [...request.environment].toSorted(([a], [b]) => a.localeCompare(b)),
    [
      ['CNI_ARGS', 'A=1;B=ö=2'],
      ['CNI_COMMAND', 'ADD'],
      ['CNI_NETNS', ''],
    ],
  );
});

function errorIn({ status, stdout }: { status: number; stdout: string }): Record<string, unknown> {
  assert.equal(status, 1);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('without a daemon, ADD waits and then fails with "try again later" in the CNI version of the configuration, naming the socket', async () => {
  const path = join(dir, 'absent.sock');
  const startMs = performance.now();
  const error = errorIn(await runShim(path, { CNI_COMMAND: 'ADD' }, '{ "cniVersion" : "0.4.0", "name": "n" }'));
  const ms = performance.now() - startMs;
  assert.ok(ms > 3500, `${ms} ms`);
  assert.equal(error['cniVersion'], '0.4.0');
  assert.equal(error['code'], 11);
  assert.match(String(error['details']), new RegExp(`${path}: No such file`));
});

test('without a daemon, STATUS fails with "not available" at once', async () => {
  const startMs = performance.now();
  const answer = await runShim(join(dir, 'absent.sock'), { CNI_COMMAND: 'STATUS' }, '{"cniVersion":"1.1.0"}', patient);
  assert.ok(performance.now() - startMs < 30_000);
  const error = errorIn(answer);
  assert.deepEqual([error['cniVersion'], error['code']], ['1.1.0', 50]);
});

test('DEL does not wait for a daemon if the folder of the socket does not exist', async () => {
  const startMs = performance.now();
  assert.equal(errorIn(await runShim('/nowhere/x.sock', { CNI_COMMAND: 'DEL' }, '', patient))['code'], 11);
  assert.ok(performance.now() - startMs < 30_000);
});

for (const [what, makeStale] of [
  ['without an earlier socket', () => undefined],
  ['beside the socket of a dead daemon', (path: string) => leaveSocket(path)],
] as const)
  test(`a waiting ADD is sent once, to the daemon that starts ${what}`, async () => {
    const path = join(dir, `late-${what.length}.sock`);
    makeStale(path);
    const answering = runShim(path, { CNI_COMMAND: 'ADD' }, '{}');
    // If the shim does not wait yet, it finds the socket at once, with the same outcome.
    await pause(300);
    let requests = 0;
    const server = await openCniServer({
      socketPath: path,
      answer: () => {
        requests++;
        return Promise.resolve({ exitStatus: 0, stdout: '{"ips":[]}\n' });
      },
      onMalformed: assert.fail,
    });
    assert.deepEqual(await answering, { status: 0, stdout: '{"ips":[]}\n' });
    assert.equal(requests, 1);
    await server.close();
  });

/** Leaves a socket in the file system on which no process listens. */
function leaveSocket(path: string): void {
  const code = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', code]);
}

test('a request fails with "try again later" if the daemon exits, and is not sent again', async () => {
  let requests = 0;
  const { path, server } = await listen('rude.sock', (socket) => {
    requests++;
    socket.once('data', () => socket.destroy());
  });
  const error = errorIn(await runShim(path, { CNI_COMMAND: 'DEL' }, ''));
  server.close();
  assert.deepEqual([error['cniVersion'], error['code'], requests], ['1.0.0', 11, 1]);
});

const whole = encodeAnswer({ exitStatus: 0, stdout: '{"cniVersion":"1.0.0"}' });
for (const [what, bytes] of [
  ['cut short in its header', whole.subarray(0, 5)],
  ['cut short in its text', whole.subarray(0, 15)],
  ['of an absurd length', Buffer.from([0, 0, 0, 0, 255, 255, 255, 255, 1])],
] as const)
  test(`a request fails if the answer is ${what}`, async () => {
    const { path, server } = await listen(`cut-${bytes.length}.sock`, (socket) => {
      // The shim may end before it has read everything.
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(bytes));
    });
    const error = errorIn(await runShim(path, { CNI_COMMAND: 'ADD' }, '{"cniVersion":"1.1.0"}'));
    server.close();
    assert.deepEqual([error['cniVersion'], error['code']], ['1.1.0', 11]);
  });

for (const [number, [what, bytes]] of (
  [
    ['success without a result', encodeAnswer({ exitStatus: 0, stdout: '' })],
    ['an error without output', encodeAnswer({ exitStatus: 1, stdout: '' })],
    ['not JSON', encodeAnswer({ exitStatus: 0, stdout: 'hello\n' })],
    ['an exit status above 255', encodeAnswer({ exitStatus: 256, stdout: '{}\n' })],
    ['of another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ] as const
).entries())
  test(`an ADD fails if the answer is ${what}`, async () => {
    const { path, server } = await listen(`stranger-${number}.sock`, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(bytes));
    });
    const error = errorIn(await runShim(path, { CNI_COMMAND: 'ADD' }, '{}'));
    server.close();
    assert.deepEqual([error['code'], String(error['details']).includes('Protocol error')], [11, true]);
  });

test('an error leaves out the path of the socket if the path would break the JSON', async () => {
  for (const path of ['/nowhere/a"b', '/nowhere/a\nb', '/nowhere/a\\b'])
    assert.match(String(errorIn(await runShim(path, { CNI_COMMAND: 'ADD' }, '{}'))['details']), /the daemon's socket/);
});

test('a request fails after the timeout if the daemon hangs', async () => {
  const { path, server } = await listen('hangs.sock', (socket) => socket.on('error', () => undefined));
  const error = errorIn(await runShim(path, { CNI_COMMAND: 'ADD' }, '{}', impatient));
  server.close();
  assert.equal(error['code'], 11);
  assert.match(String(error['details']), /timed out/);
});

test('the shim answers VERSION without a daemon', async () => {
  const answer = await runShim(join(dir, 'absent.sock'), { CNI_COMMAND: 'VERSION' }, '{"cniVersion":"1.1.0"}');
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
