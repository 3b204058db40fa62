import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { KubeApiError, KubeUnreachable, LeaseLost } from './errors.ts';
import { runWithLease } from './leader.ts';
import type { LeaseTiming } from './leader.ts';
import type { KubeClient } from './types.ts';

const timing: LeaseTiming = { leaseMs: 3000, renewDeadlineMs: 1500, retryMs: 40, random: () => 0 };

interface StoredLease {
  metadata: { resourceVersion: string };
  spec: Record<string, unknown>;
}

/** One Lease behind the three requests that leadership needs. */
class LeaseStore {
  stored: StoredLease | undefined;
  isDown = false;
  writes = 0;

  readonly client = {
    request: (method: string, _path: string, body?: unknown) => this.#answer(method, body),
  } as unknown as KubeClient;

  async #answer(method: string, body: unknown): Promise<unknown> {
    if (this.isDown) throw new KubeUnreachable('down');
    if (method === 'POST') {
      if (this.stored) throw new KubeApiError(409, 'AlreadyExists', 'exists');
      return this.#store((body as StoredLease).spec);
    }
    if (!this.stored) throw new KubeApiError(404, 'NotFound', 'none');
    if (method === 'GET') return structuredClone(this.stored);
    const patch = body as StoredLease;
    if (patch.metadata.resourceVersion !== this.stored.metadata.resourceVersion)
      throw new KubeApiError(409, 'Conflict', 'changed');
    return this.#store({ ...this.stored.spec, ...patch.spec });
  }

  #store(spec: Record<string, unknown>): unknown {
    this.writes++;
    this.stored = { metadata: { resourceVersion: String(this.writes) }, spec };
    return structuredClone(this.stored);
  }

  get holder(): unknown {
    return this.stored?.spec['holderIdentity'];
  }
}

function candidate(store: LeaseStore, identity: string) {
  const stop = new AbortController();
  const started = Promise.withResolvers<void>();
  const work: { signal?: AbortSignal } = {};
  const ended = runWithLease({
    client: store.client,
    namespace: 'kube-system',
    name: 'isthmus-test',
    identity,
    signal: stop.signal,
    log: pino({ level: 'silent' }),
    timing,
    lead: async (signal) => {
      work.signal = signal;
      started.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  return { stop: () => stop.abort(), started: started.promise, ended, work };
}

test('one of two leads; the lease is released at the end and acquired by the other at once', async () => {
  const store = new LeaseStore();
  const first = candidate(store, 'first');
  await first.started;
  const second = candidate(store, 'second');
  await new Promise((resolve) => setTimeout(resolve, timing.leaseMs + 300));
  assert.equal(store.holder, 'first');
  assert.equal(second.work.signal, undefined);
  const stoppedMs = performance.now();
  first.stop();
  await first.ended;
  await second.started;
  assert.ok(performance.now() - stoppedMs < timing.leaseMs - 500);
  assert.equal(store.holder, 'second');
  assert.equal(store.stored?.spec['leaseTransitions'], 1);
  second.stop();
  await second.ended;
  assert.equal(store.holder, '');
});

test('a lease whose holder vanished is acquired after its duration, not before', async () => {
  const store = new LeaseStore();
  store.stored = { metadata: { resourceVersion: '0' }, spec: { holderIdentity: 'gone', leaseDurationSeconds: 1 } };
  const startedMs = performance.now();
  const next = candidate(store, 'next');
  await next.started;
  assert.ok(performance.now() - startedMs >= 1000);
  next.stop();
  await next.ended;
});

test('a process that comes back under its own name leads at once', async () => {
  const store = new LeaseStore();
  store.stored = { metadata: { resourceVersion: '0' }, spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } };
  const again = candidate(store, 'me');
  await again.started;
  again.stop();
  await again.ended;
});

test('a lease that cannot be renewed ends the work before the lease expires', async () => {
  const store = new LeaseStore();
  const leader = candidate(store, 'leader');
  await leader.started;
  const downMs = performance.now();
  store.isDown = true;
  await assert.rejects(leader.ended, LeaseLost);
  assert.ok(performance.now() - downMs < timing.leaseMs);
  assert.equal(leader.work.signal?.aborted, true);
});

test('a leader that stood still for longer than the deadline goes on, unless another leads by then', async () => {
  const standStill = (ms: number): void => {
    for (const end = performance.now() + ms; performance.now() < end;);
  };
  const store = new LeaseStore();
  const leader = candidate(store, 'a');
  await leader.started;
  standStill(timing.renewDeadlineMs + 200);
  const { writes } = store;
  await pause(300);
  assert.ok(store.writes > writes);
  assert.equal(leader.work.signal?.aborted, false);
  standStill(timing.renewDeadlineMs + 200);
  if (store.stored !== undefined)
    store.stored = { metadata: { resourceVersion: 'x' }, spec: { ...store.stored.spec, holderIdentity: 'b' } };
  await assert.rejects(leader.ended, LeaseLost);
});

test('a short outage is survived', async () => {
  const store = new LeaseStore();
  const leader = candidate(store, 'leader');
  await leader.started;
  store.isDown = true;
  await new Promise((resolve) => setTimeout(resolve, 200));
  store.isDown = false;
  await new Promise((resolve) => setTimeout(resolve, timing.renewDeadlineMs + 100));
  assert.equal(leader.work.signal?.aborted, false);
  leader.stop();
  await leader.ended;
});

test('a lease that another instance acquired is lost at once', async () => {
  const store = new LeaseStore();
  const leader = candidate(store, 'leader');
  await leader.started;
  store.stored = {
    metadata: { resourceVersion: '99' },
    spec: { holderIdentity: 'thief', leaseDurationSeconds: 15, renewTime: 'x' },
  };
  await assert.rejects(leader.ended, /now held by thief/);
  assert.equal(store.holder, 'thief');
});

test('a lease that another client edits or removes is kept', async () => {
  const store = new LeaseStore();
  const leader = candidate(store, 'leader');
  await leader.started;
  if (store.stored) store.stored.metadata.resourceVersion = 'edited';
  await new Promise((resolve) => setTimeout(resolve, 150));
  store.stored = undefined;
  while (store.holder === undefined) await new Promise((resolve) => setTimeout(resolve, timing.retryMs));
  assert.equal(store.holder, 'leader');
  assert.equal(leader.work.signal?.aborted, false);
  leader.stop();
  await leader.ended;
});

test('an error of the work releases the lease and reaches the caller', async () => {
  const store = new LeaseStore();
  const ended = runWithLease({
    client: store.client,
    namespace: 'x',
    name: 'y',
    identity: 'me',
    signal: new AbortController().signal,
    log: pino({ level: 'silent' }),
    timing,
    lead: async () => {
      throw new TypeError('a defect');
    },
  });
  await assert.rejects(ended, /a defect/);
  assert.equal(store.holder, '');
});
