import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpdateLag } from './update-lag.ts';

test('changes sent together have one lag, that of the oldest; changes that gobgpd did not accept keep waiting', () => {
  let nowMs = 100;
  const lags: number[] = [];
  const lag = new UpdateLag(
    () => nowMs,
    (lagMs) => lags.push(lagMs),
  );
  lag.sent();
  lag.answered();
  assert.deepEqual([lags, lag.pendingMs], [[], 0], 'a look without changes has no lag');
  lag.wants(98);
  lag.wants(99);
  lag.sent();
  nowMs = 105;
  lag.wants(104);
  lag.answered();
  assert.deepEqual([lags.splice(0), lag.pendingMs], [[7], 1]);
  lag.sent();
  nowMs = 110;
  lag.wants(109);
  lag.sent();
  assert.equal(lag.pendingMs, 6);
  lag.answered();
  assert.deepEqual([lags, lag.pendingMs], [[6], 0]);
});
