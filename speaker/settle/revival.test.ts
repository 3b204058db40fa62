import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObservedSession } from '../model/observed.ts';
import { Revival } from './revival.ts';

const address = '10.0.0.254';
const counts = { received: { ipv4: 0, ipv6: 0 }, flaps: 0, isLost: true, isDeferring: false };
const overLimit: ObservedSession = { state: 'Idle', reason: 'PrefixLimit', ...counts, isOverLimit: true };
const down: ObservedSession = { state: 'Active', ...counts, isOverLimit: false };
const up: ObservedSession = { ...down, state: 'Established', isLost: false };

/** Reads a session over its limit several times; returns how many times it was enabled after each reading. */
function enabledAfter(looks: readonly (readonly [limit: number | undefined, atMs: number])[]): number[] {
  let enabled = 0;
  const revival = new Revival();
  return looks.map(([limit, atMs]) => {
    const prefixes = limit === undefined ? undefined : { limit, restartSeconds: 60 };
    if (revival.judge(address, overLimit, { isPeer: true, prefixes }, atMs) === 'enable') enabled += 1;
    return enabled;
  });
}

test('a session over its limit comes back after restartSeconds', () => {
  const looks = [0, 59_999, 60_000, 60_001].map((atMs) => [2, atMs] as const);
  assert.deepEqual(enabledAfter(looks), [0, 0, 1, 1]);
});

test('a session over a limit that was changed or removed comes back at once', () => {
  assert.deepEqual(
    enabledAfter([
      [2, 0],
      [5, 1000],
      [5, 1001],
    ]),
    [0, 1, 1],
  );
  assert.deepEqual(
    enabledAfter([
      [2, 0],
      [undefined, 1000],
    ]),
    [0, 1],
  );
});

test('a lost session is recreated once, shortly after the loss, and only if it was up before', () => {
  const revival = new Revival();
  const judge = (session: ObservedSession, nowMs: number) =>
    revival.judge(address, session, { isPeer: true, prefixes: undefined }, nowMs);
  assert.equal(judge(down, 0), undefined);
  assert.equal(judge(up, 1000), undefined);
  assert.deepEqual(judge(down, 2000), { againMs: 50 });
  assert.deepEqual(judge(down, 2010), { againMs: 40 });
  assert.equal(judge(down, 2050), 'remake');
  assert.equal(judge(down, 2051), undefined);
});

test('a neighbour that ends its sessions again and again is left to gobgpd', () => {
  const revival = new Revival();
  let remade = 0;
  for (let nowMs = 0; nowMs < 5000; nowMs += 100)
    for (const [session, atMs] of [
      [up, nowMs],
      [down, nowMs + 10],
      [down, nowMs + 60],
    ] as const)
      if (revival.judge(address, session, { isPeer: true, prefixes: undefined }, atMs) === 'remake') remade += 1;
  assert.equal(remade, 20);
});
