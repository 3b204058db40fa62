import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Problem } from '../../lib/desired/problem.ts';
import { ConflistKeeper } from './conflist.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const dir = mkdtempSync(join(tmpdir(), 'conflist-'));
after(() => rmSync(dir, { recursive: true }));
const source = join(dir, '01-isthmus.conflist');
writeFileSync(source, '{"name":"isthmus"}');

function keeperOf(folder: string): { keeper: ConflistKeeper; problems: Problem[]; target: string } {
  const problems: Problem[] = [];
  const log = { info: () => undefined };
  const keeper = new ConflistKeeper({ source, folder, onProblem: (problem) => problems.push(problem), log });
  return { keeper, problems, target: join(folder, '01-isthmus.conflist') };
}

const isBack = (target: string) => (): boolean =>
  existsSync(target) && readFileSync(target, 'utf8') === '{"name":"isthmus"}';

test('the file is written by the first call, and restored when it is deleted, changed, or deleted with its folder', async () => {
  const folder = join(dir, 'net.d');
  const { keeper, problems, target } = keeperOf(folder);
  assert.ok(!existsSync(folder), 'not before the node is ready');
  keeper.keep();
  assert.ok(isBack(target)());
  assert.deepEqual(readdirSync(folder), ['01-isthmus.conflist']);
  const { mtimeMs } = statSync(target);
  keeper.keep();
  assert.equal(statSync(target).mtimeMs, mtimeMs, 'what is there is not written again');
  rmSync(target);
  await eventually('the file', isBack(target));
  writeFileSync(target, 'x');
  await eventually('its content', isBack(target));
  rmSync(folder, { recursive: true });
  await eventually('the folder', isBack(target));
  rmSync(target);
  await eventually('the file in the new folder', isBack(target));
  assert.deepEqual(problems, []);
  keeper.close();
  assert.ok(isBack(target)(), 'it stays');
});

test('a file that cannot be written is reported once, and written by a later call', () => {
  const folder = join(dir, 'taken');
  writeFileSync(folder, 'a file where the folder should be');
  const { keeper, problems, target } = keeperOf(folder);
  keeper.keep();
  keeper.keep();
  assert.deepEqual(
    problems.map(({ code }) => code),
    ['ConflistNotWritten'],
  );
  assert.match(problems[0]?.message ?? '', /taken\/01-isthmus\.conflist could not be written: .*starts no pods/);
  rmSync(folder);
  mkdirSync(folder);
  keeper.keep();
  assert.ok(isBack(target)());
  keeper.close();
});
