import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { OvsdbClient } from 'ovsdb-client';
import { SwitchPace } from './switch-pace.ts';

/** A database whose counters are set by hand, and a clock. */
function bed() {
  let row = { next_cfg: 1, cur_cfg: 1 };
  let nowMs = 1000;
  const listeners = new Set<() => void>();
  const client = {
    cache: { table: () => ({ rows: new Map([['r', row]]) }) },
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as OvsdbClient;
  const pace = new SwitchPace(client, () => nowMs);
  const at = (ms: number, change: Partial<typeof row> = {}): void => {
    nowMs = ms;
    row = { ...row, ...change };
    for (const listener of listeners) listener();
  };
  return { pace, at };
}

async function isResolved(promise: Promise<void>): Promise<boolean> {
  let isDone = false;
  void promise.then(() => (isDone = true));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  return isDone;
}

test('where nothing is under way, nobody waits', async () => {
  const { pace } = bed();
  assert.ok(await isResolved(pace.untilTakenUp()));
});

test('the next transaction waits for the one before, and as long again as that took', async () => {
  const { pace, at } = bed();
  at(1000, { next_cfg: 2 });
  const next = pace.untilTakenUp();
  assert.ok(!(await isResolved(next)));
  at(1030, { cur_cfg: 2 });
  assert.ok(!(await isResolved(next)), 'it rests');
  await next;
  at(1100);
  assert.ok(await isResolved(pace.untilTakenUp()), 'it has rested');
});

test('an ovs-vswitchd that does not run is waited for no longer than 100 ms', async () => {
  const { pace, at } = bed();
  at(1000, { next_cfg: 2 });
  await pace.untilTakenUp();
});
