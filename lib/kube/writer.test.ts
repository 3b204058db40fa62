import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { KubeApiError, KubeUnreachable } from './errors.ts';
import { ObjectWriter } from './writer.ts';

const timing = { baseMs: 5, maxMs: 20, random: () => 0.5 };
const apiError = (status: number, retryAfterMs?: number) =>
  new KubeApiError(status, '', `status ${status}`, retryAfterMs);

test('one write of a key is in flight; of those that wait the newest wins', async () => {
  const writer = new ObjectWriter({ timing });
  const gate = Promise.withResolvers<void>();
  const done: number[] = [];
  const outcomes = [0, 1, 2, 3].map((number) =>
    writer.enqueue('a', async () => {
      if (number === 0) await gate.promise;
      done.push(number);
    }),
  );
  const other = await writer.enqueue('b', async () => done.push(9));
  gate.resolve();
  assert.deepEqual(await Promise.all(outcomes), ['written', 'superseded', 'superseded', 'written']);
  assert.equal(other, 'written');
  assert.deepEqual(done, [9, 0, 3]);
});

for (const error of [apiError(429), apiError(500), apiError(503), apiError(403), new KubeUnreachable('reset')])
  test(`is tried again after: ${error.message}`, async () => {
    const writer = new ObjectWriter({ timing });
    let attempts = 0;
    const outcome = await writer.enqueue('a', async () => {
      if (++attempts < 4) throw error;
    });
    assert.equal(outcome, 'written');
    assert.equal(attempts, 4);
  });

for (const status of [404, 409, 422])
  test(`${status} is handed back and not tried again`, async () => {
    const refused: string[] = [];
    const writer = new ObjectWriter({ timing, onRefused: (key, error) => refused.push(`${key} ${error.status}`) });
    let attempts = 0;
    const outcome = await writer.enqueue('a', async () => {
      attempts++;
      throw apiError(status);
    });
    assert.ok(outcome instanceof KubeApiError);
    assert.equal(attempts, 1);
    assert.deepEqual(refused, [`a ${status}`]);
    assert.equal(await writer.enqueue('a', async () => undefined), 'written');
  });

test('a newer write replaces one that is being tried again', async () => {
  const writer = new ObjectWriter({ timing });
  const first = writer.enqueue('a', async () => {
    throw apiError(500);
  });
  await new Promise((resolve) => setTimeout(resolve, 15));
  assert.equal(await writer.enqueue('a', async () => undefined), 'written');
  assert.equal(await first, 'superseded');
  await writer.idle();
});

test('keys that are refused for long do not delay others', async () => {
  const writer = new ObjectWriter({ timing: { baseMs: 60_000, maxMs: 60_000, random: () => 1, parallel: 2 } });
  for (const key of ['a', 'b', 'c', 'd'])
    void writer.enqueue(key, async () => {
      throw apiError(503);
    });
  assert.equal(await writer.enqueue('e', async () => undefined), 'written');
  await writer.close();
});

test('not more writes are in flight than allowed, and idle waits for all', async () => {
  const writer = new ObjectWriter({ timing: { parallel: 3 } });
  let running = 0;
  let most = 0;
  for (let index = 0; index < 20; index++)
    void writer.enqueue(`k${index}`, async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    });
  await writer.idle();
  assert.equal(most, 3);
  assert.equal(running, 0);
});

test('the token bucket lets a burst pass and then keeps the rate', async () => {
  const writer = new ObjectWriter({ timing: { qps: 100, burst: 5, parallel: 50 } });
  const startedMs = performance.now();
  for (let index = 0; index < 15; index++) void writer.enqueue(`k${index}`, async () => undefined);
  await writer.idle();
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs >= 85, `ten writes above the burst took ${tookMs} ms at 100/s`);
});

test('closing drops waiting writes and ends the backoff of a failed write', async () => {
  const writer = new ObjectWriter({ timing: { baseMs: 60_000, maxMs: 60_000, random: () => 1 } });
  const outcome = writer.enqueue('a', async () => {
    throw apiError(500);
  });
  await new Promise((resolve) => setImmediate(resolve));
  await writer.close();
  assert.equal(await outcome, 'stopped');
  assert.equal(await writer.enqueue('a', async () => undefined), 'stopped');
});

test('cancel drops a write that has not started', async () => {
  const writer = new ObjectWriter({ timing });
  const gate = Promise.withResolvers<void>();
  const first = writer.enqueue('a', () => gate.promise);
  const second = writer.enqueue('a', async () => assert.fail('was cancelled'));
  writer.cancel('a');
  gate.resolve();
  assert.deepEqual(await Promise.all([first, second]), ['written', 'superseded']);
  await writer.idle();
});
