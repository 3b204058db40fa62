import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
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
      file('endless'),
      `import { test } from 'node:test'; test('well', () => {}); setInterval(() => {}, 1000);`,
    );
  });
  after(() => {
    if (outer !== undefined) process.env['NODE_TEST_CONTEXT'] = outer;
    rmSync(dir, { recursive: true });
  });

  for (const tier of ['unit', 'system'] as const)
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

  it('with a program passes when it exits with 0', async () => {
    const program: Job = { name: 'true', tier: 'lab', files: [], argv: ['true'], needs: [] };
    const { isPassed, results } = await perform(program, join(dir, 'program')).ended;
    assert.deepEqual([isPassed, results], [true, undefined]);
  });
});
