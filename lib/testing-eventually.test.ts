import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from './testing-eventually.ts';

test('gives the first answer that is something', async () => {
  const answers = [undefined, null, false, 0];
  assert.equal(await eventually('an answer', () => answers.shift()), 0);
  assert.equal(answers.length, 0);
});

test('names what was awaited and the last state', async () => {
  await assert.rejects(
    eventually('the port is up', () => false, 50),
    /^Error: the port is up: not within 50 ms; last answer: false$/,
  );
  const failing = eventually('the port is up', () => assert.equal('down', 'up', 'the port is down'), 50);
  await assert.rejects(failing, /last error: the port is down/);
});
