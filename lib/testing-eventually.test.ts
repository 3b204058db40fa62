import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, eventuallyPasses, notYet, restMs } from './testing-eventually.ts';

test('gives the first answer that is something', async () => {
  const answers = [undefined, null, false, notYet('soon'), 0];
  assert.equal(await eventually('an answer', () => answers.shift()), 0);
  assert.equal(answers.length, 0);
});

test('gives what a check of assertions returns, also nothing', async () => {
  let looks = 0;
  const look = (): void => assert.equal(++looks, 3);
  assert.equal(await eventuallyPasses(look), undefined);
  assert.equal(looks, 3);
  await assert.rejects(
    eventuallyPasses(() => looks === 0, 50),
    /^Error: \(\) => looks === 0: not within 50 ms/,
  );
});

test('looks less often after a longer wait', () => {
  assert.deepEqual([0, 2500, 10_000, 25_000, 100_000].map(restMs), [100, 100, 400, 1000, 1000]);
});

test('names what was awaited and the last state', async () => {
  await assert.rejects(
    eventually('the port is up', () => false, 50),
    /^Error: the port is up: not within 50 ms; last answer: false$/,
  );
  await assert.rejects(
    eventually('the port is up', () => notYet('it is down'), 50),
    /^Error: the port is up: not within 50 ms; last answer: it is down$/,
  );
  const failing = eventually('the port is up', () => assert.equal('down', 'up', 'the port is down'), 50);
  await assert.rejects(failing, /last error: the port is down/);
});
