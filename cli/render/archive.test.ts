import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { packFiles } from './archive.ts';

test('tar reads the files as they were, also empty ones and long paths', () => {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-archive-'));
  const long = `report/logs/${'p'.repeat(90)}/${'c'.repeat(60)}.log`;
  const files = [
    { path: 'report/a.txt', text: 'ä\n'.repeat(1000) },
    { path: 'report/empty.txt', text: '' },
    { path: 'report/block.txt', text: 'x'.repeat(512) },
    { path: long, text: 'long' },
  ];
  writeFileSync(join(dir, 'report.tar'), packFiles(files, 1_700_000_000_500));
  execFileSync('tar', ['-xf', 'report.tar'], { cwd: dir });
  for (const { path, text } of files) assert.equal(readFileSync(join(dir, path), 'utf8'), text);
  assert.match(
    execFileSync('tar', ['--utc', '-tvf', join(dir, 'report.tar')], { encoding: 'utf8' }),
    /^-rw------- 0\/0 +3000 2023-11-14 22:13 /,
  );
  rmSync(dir, { recursive: true });
});

test('a path that the format cannot hold is an error', () => {
  assert.throws(() => packFiles([{ path: 'x'.repeat(101), text: '' }], 0), RangeError);
});
