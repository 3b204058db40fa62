import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run } from './program.ts';

async function outputOf(...argv: string[]): Promise<readonly [code: number, text: string]> {
  let text = '';
  const say = (words: string): void => void (text += words);
  const code = await run(argv, {
    env: {},
    out: say,
    note: say,
    readInput: () => Promise.resolve(''),
    ask: () => Promise.resolve(undefined),
    isColoured: true,
    now: () => 0,
    signal: new AbortController().signal,
  });
  return [code, text];
}

it('takes the flags of every command also before its words', async () => {
  const plain = await outputOf('ic', 'drain', '--help');
  assert.equal(plain[0], 0);
  assert.deepEqual(await outputOf('--no-color', 'ic', 'drain', '--help'), plain);
  assert.deepEqual(await outputOf('--no-color=true', 'ic', 'drain', '--help'), plain);
  assert.deepEqual(await outputOf('--no-color'), await outputOf());
  assert.deepEqual(await outputOf('--no-color', 'check', '--help'), await outputOf('check', '--help'));
  const [code, text] = await outputOf('--output=json', 'ic', 'status');
  assert.equal(code, 2);
  assert.match(text, /"--output=json" is not a command/);
});

it('has commands without a word before them, apart from those of the same name in a group', async () => {
  const [code, text] = await outputOf('check', '--help');
  assert.equal(code, 0);
  assert.match(text, /^usage: isthmus check \[flags\]\n/);
  assert.match((await outputOf('status', '--help'))[1], /^usage: isthmus status \[flags\].*--wait/s);
  assert.match((await outputOf('ic', 'status', '--help'))[1], /^usage: isthmus ic status \[flags\]/);
  const [, help] = await outputOf('--help');
  assert.match(help, /usage: isthmus \[ic\|bgp\|why\|policy\|nodes\] <command>/);
  assert.match(
    help,
    /^isthmus: one cluster.*\n {2}check +check before .*\n {2}status +check after .*\n {2}report +write one archive/m,
  );
});

it('never prints what a terminal would act on, in results and in errors', async () => {
  const [code, text] = await outputOf('ic', '\u001B[2J\u009B');
  assert.deepEqual([code, text], [2, '"ic \\u001b[2J\\u009b" is not a command; see isthmus ic --help\n']);
  const [, missing] = await outputOf('ic', 'status', '--kubeconfig', '/nonexistent/\u001B]0;x\u0007');
  assert.match(missing, /\\u001b\]0;x\\u0007/);
  assert.ok(!missing.includes('\u001B'), missing);
});
