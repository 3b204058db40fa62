import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run } from './program.ts';

async function told(...argv: string[]): Promise<readonly [code: number, text: string]> {
  let text = '';
  const say = (words: string): void => void (text += words);
  const code = await run(argv, {
    env: {},
    out: say,
    note: say,
    readInput: () => Promise.resolve(''),
    isColoured: true,
    now: () => 0,
    signal: new AbortController().signal,
  });
  return [code, text];
}

it('takes the flags of every command also before its words', async () => {
  const plain = await told('ic', 'drain', '--help');
  assert.equal(plain[0], 0);
  assert.deepEqual(await told('--no-color', 'ic', 'drain', '--help'), plain);
  assert.deepEqual(await told('--no-color=true', 'ic', 'drain', '--help'), plain);
  assert.deepEqual(await told('--no-color'), await told());
  const [code, text] = await told('--output=json', 'ic', 'status');
  assert.equal(code, 2);
  assert.match(text, /"--output=json" is no command/);
});
