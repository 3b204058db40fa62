import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../lib/testing-eventually.ts';
import type { Job, Tier } from './jobs.ts';
import { perform } from './perform.ts';

describe('a job', () => {
  const dir = mkdtempSync(join(tmpdir(), 'perform-'));
  const file = (name: string): string => relative(process.cwd(), join(dir, `${name}.test.mjs`));
  const job = (tier: Tier, ...names: string[]): Job => ({ name: 'job', tier, files: names.map(file), needs: [] });
  const outer = process.env['NODE_TEST_CONTEXT'];

  before(() => {
    // With it the runner takes itself for the child of another one.
    delete process.env['NODE_TEST_CONTEXT'];
    writeFileSync(
      file('good'),
      `import { test } from 'node:test'; test('well', () => {}); test('later', { skip: true });`,
    );
    writeFileSync(
      file('bad'),
      `import { test } from 'node:test'; test('ill', () => { throw new Error('oh', { cause: new Error('why') }); });`,
    );
    writeFileSync(file('gone'), `process.exit(3);`);
    writeFileSync(
      file('timer'),
      `import { test } from 'node:test'; test('well', () => {}); setInterval(() => {}, 1000);`,
    );
    writeFileSync(
      file('endless'),
      `import { test } from 'node:test'; test('ill', () => new Promise(() => setInterval(() => {}, 1000)));`,
    );
  });
  after(() => {
    if (outer !== undefined) process.env['NODE_TEST_CONTEXT'] = outer;
    rmSync(dir, { recursive: true });
  });

  const limit = { timeout: 60_000 };
  /** A file that starts a server in a network namespace and in a session of its own, and mounts a folder; then it does the rest. */
  const writeBed = (name: string, rest: string): Job => {
    const commands = [
      `ip netns add ${netns(name)}`,
      `mkdir ${join(dir, name)}.folder`,
      `mount -t tmpfs none ${join(dir, name)}.folder`,
      `ip netns exec ${netns(name)} setsid --fork sh -c 'echo $$ > ${pidFile(name)}; exec sleep 1000'`,
    ];
    const start = `for (const line of ${JSON.stringify(commands)}) execFileSync('sh', ['-c', line], { stdio: 'ignore' });`;
    writeFileSync(
      file(name),
      `import { execFileSync } from 'node:child_process'; import { existsSync } from 'node:fs'; import { test } from 'node:test';
      ${start} test('bed', async () => { ${rest} });`,
    );
    return { ...job('system', name), isContained: true };
  };
  const netns = (name: string): string => `perform${process.pid.toString(36)}-${name}`;
  const pidFile = (name: string): string => join(dir, `${name}.pid`);
  const serverOf = (name: string): string => {
    const pid = existsSync(pidFile(name)) ? readFileSync(pidFile(name), 'utf8').trim() : '';
    // A process that has ended has no command line until its parent takes notice.
    const command = pid !== '' && existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
    return command === '' ? 'ended' : `pid ${pid}`;
  };
  const assertGone = (name: string): void => {
    assert.ok(existsSync(pidFile(name)), 'the file started its server');
    assert.equal(serverOf(name), 'ended');
    assert.ok(!existsSync(join('/run/netns', netns(name))));
    assert.ok(!readFileSync('/proc/self/mountinfo', 'utf8').includes(`${dir}/${name}.folder`));
  };

  for (const tier of ['unit', 'system'] as const) {
    it(`of the ${tier} tests ends although a test left a timer`, limit, async () => {
      const { isPassed, results } = await perform(job(tier, 'timer', 'good'), join(dir, `${tier}-timer`)).ended;
      assert.equal(isPassed, true);
      assert.equal(results?.counts.passed, 2);
    });

    it(`of the ${tier} tests reports which of its files failed`, async () => {
      const { isPassed, output, results } = await perform(job(tier, 'good', 'bad'), join(dir, tier)).ended;
      assert.equal(isPassed, false);
      assert.match(output, /✖ ill/);
      assert.deepEqual(results?.counts, { tests: 3, passed: 1, failed: 1, cancelled: 0, skipped: 1 });
      const failed = results.files.filter(({ hasFailed }) => hasFailed);
      assert.deepEqual(
        failed.map(({ path, failures }) => [path, failures]),
        [[file('bad'), [{ test: 'ill', error: 'oh: why' }]]],
      );
    });
  }

  it('fails when its file ends before its tests', async () => {
    const { isPassed, results } = await perform(job('system', 'gone'), join(dir, 'gone')).ended;
    assert.equal(isPassed, false);
    assert.deepEqual(
      results?.files.map(({ path, hasFailed }) => [path, hasFailed]),
      [[file('gone'), true]],
    );
  });

  it('fails at the time limit when its file never ends', { timeout: 30_000 }, async () => {
    const { isPassed, output } = await perform(job('system', 'endless'), join(dir, 'endless'), 2000).ended;
    assert.equal(isPassed, false);
    assert.match(output, /job did not end within 2\.0 s and was ended/);
  });

  it('leaves nothing of a contained file at the time limit, and does not touch the file beside', limit, async () => {
    const end = join(dir, 'beside.end');
    const rest = `while (!existsSync('${end}')) await new Promise((wake) => setTimeout(wake, 50));`;
    const beside = perform(writeBed('beside', rest), join(dir, 'beside'));
    const endless = perform(
      writeBed('hangs', 'setInterval(() => {}, 1000); await new Promise(() => {});'),
      join(dir, 'hangs'),
      15_000,
    );
    const { isPassed, output } = await endless.ended;
    assert.equal(isPassed, false);
    assert.match(output, /job did not end within 15\.0 s and was ended\njob left processes, which were ended: sleep/);
    assertGone('hangs');
    assert.match(serverOf('beside'), /^pid/);
    writeFileSync(end, '');
    assert.equal((await beside.ended).isPassed, true);
    assertGone('beside');
  });

  it('leaves nothing of a contained file that was killed', limit, async () => {
    const killed = perform(writeBed('killed', `process.kill(process.pid, 'SIGKILL');`), join(dir, 'killed'));
    const { isPassed, output } = await killed.ended;
    assert.equal(isPassed, false);
    assert.match(output, /job left processes, which were ended: sleep/);
    assertGone('killed');
  });

  it('leaves nothing of a contained file whose runner was killed', limit, async () => {
    const rest = 'setInterval(() => {}, 1000); await new Promise(() => {});';
    const { child, ended } = perform(writeBed('orphan', rest), join(dir, 'orphan'));
    await eventually('the server', () => serverOf('orphan') !== 'ended');
    child.kill('SIGKILL');
    assert.equal((await ended).isPassed, false);
    assertGone('orphan');
  });

  it('with a program passes when it exits with 0', async () => {
    const program: Job = { name: 'true', tier: 'lab', files: [], argv: ['true'], needs: [] };
    const { isPassed, results } = await perform(program, join(dir, 'program')).ended;
    assert.deepEqual([isPassed, results], [true, undefined]);
  });
});
