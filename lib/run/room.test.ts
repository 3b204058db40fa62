import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const imports = `
  const { runRoom } = await import('${import.meta.resolve('./room.ts')}');
  const { FatalError } = await import('${import.meta.resolve('./fatal-error.ts')}');
  const { UsageError } = await import('${import.meta.resolve('./flags.ts')}');
  const forever = () => new Promise(() => setInterval(() => {}, 1000));
`;

/** Runs `main` as a room; sends SIGTERM once it has printed a line. */
async function run(main: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const script = `${imports} runRoom('test', ${main});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk));
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output.stdout += chunk;
    child.kill('SIGTERM');
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...output };
}

test('SIGTERM aborts the signal; a clean end exits with 0', async () => {
  const { code, stderr } = await run(`async (signal, log) => {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    setInterval(() => {}, 1000);
    console.log('up');
    await aborted;
    log.info('done');
  }`);
  assert.equal(code, 0);
  assert.match(stderr, /"level":"info".*"room":"test".*"msg":"done"/);
});

test('rejecting with the reason of the abort is a clean end', async () => {
  const { code } = await run(`async (signal) => {
    setInterval(() => {}, 1000);
    console.log('up');
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }`);
  assert.equal(code, 0);
});

test('an unexpected error is logged and ends the process with 1', async () => {
  for (const main of [
    `async () => { throw new TypeError('a defect'); }`,
    `async () => { void Promise.reject(new TypeError('a defect')); await forever(); }`,
    `async () => { setTimeout(() => { throw new TypeError('a defect'); }); await forever(); }`,
  ]) {
    const { code, stderr } = await run(main);
    assert.equal(code, 1);
    assert.match(stderr, /"level":"fatal".*a defect/);
  }
});

test('a known reason is logged without a stack and ends the process with 1', async () => {
  const { code, stderr } = await run(`async () => {
    class Lost extends FatalError { code = 'Lost'; }
    throw new Lost('the lease is lost');
  }`);
  assert.equal(code, 1);
  assert.match(stderr, /"level":"fatal".*"reason":"Lost","msg":"ending the process: the lease is lost"/);
  assert.doesNotMatch(stderr, /stack/);
});

test('a bad command line exits with 2, help with 0', async () => {
  const bad = await run(`async () => { throw new UsageError('no such flag', 2); }`);
  assert.deepEqual([bad.code, bad.stderr], [2, 'no such flag\n']);
  const help = await run(`async () => { throw new UsageError('the flags', 0); }`);
  assert.deepEqual([help.code, help.stdout], [0, 'the flags\n']);
});
