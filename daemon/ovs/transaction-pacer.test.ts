import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { OvsdbClient } from 'ovsdb-client';
import { PendingPorts } from './pending-ports.ts';
import { TransactionPacer } from './transaction-pacer.ts';

/** A database whose counters are set by hand. */
function bed() {
  let row = { next_cfg: 1, cur_cfg: 1 };
  const listeners = new Set<() => void>();
  const client = {
    cache: { table: () => ({ rows: new Map([['r', row]]) }) },
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as OvsdbClient;
  const pendingPorts = new PendingPorts();
  const set = (change: Partial<typeof row>): void => {
    row = { ...row, ...change };
    for (const listener of listeners) listener();
  };
  return { pace: new TransactionPacer(client, pendingPorts), set, pendingPorts };
}

async function isResolved(promise: Promise<void>): Promise<boolean> {
  let isDone = false;
  void promise.then(() => (isDone = true));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  return isDone;
}

test('a transaction does not wait while no other is in progress', async () => {
  const { pace } = bed();
  assert.ok(await isResolved(pace.untilTakenUp()));
});

test('the next transaction waits for the one before', async () => {
  const { pace, set } = bed();
  set({ next_cfg: 2 });
  const next = pace.untilTakenUp();
  assert.ok(!(await isResolved(next)));
  set({ cur_cfg: 2 });
  assert.ok(await isResolved(next));
});

test('an ovs-vswitchd that does not run is waited for no longer than 100 ms', async () => {
  const { pace, set } = bed();
  set({ next_cfg: 2 });
  await pace.untilTakenUp();
});

test('ports that are about to come are waited for, no longer than 100 ms each time', async () => {
  const { pace, pendingPorts } = bed();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const made = [first, second].map(({ promise }) => pendingPorts.run(() => promise));
  const next = pace.untilTakenUp();
  first.resolve();
  assert.ok(!(await isResolved(next)));
  second.resolve();
  assert.ok(await isResolved(next));
  await Promise.all(made);
  void pendingPorts.run(() => new Promise(() => undefined));
  await pace.untilTakenUp();
});

test('work that fails is not waited for any longer', async () => {
  const { pace, pendingPorts } = bed();
  await assert.rejects(
    pendingPorts.run(() => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.ok(await isResolved(pace.untilTakenUp()));
});
