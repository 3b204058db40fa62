/**
 * Leader election among several processes by a renewed Lease. Callers: the rooms' main.ts, around everything that writes.
 * Rules: a lease has expired when THIS process saw it unchanged for its duration; clocks of two machines are never compared.
 * A leader that tried to renew in vain until the deadline must end (`LeaseLost`). A leader that shuts down in order releases the lease at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../run/logger.ts';
import { isKubeError, KubeApiError, LeaseLost } from './errors.ts';
import { leases, objectPath } from './resources.ts';
import type { KubeClient } from './types.ts';

export interface LeaseTiming {
  /** Other candidates may take a lease that was not renewed for this time. */
  readonly leaseMs: number;
  /** A leader that could not renew for this time ends; shorter than the lease, so that it has ended before a successor starts. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
  readonly random: () => number;
}

export interface LeaseOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the candidates: a pod's name. */
  readonly identity: string;
  /** Ends the leadership in order. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** The work of the leader. Its signal aborts at the end and on loss; the lease is released after it returns. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly timing?: Partial<LeaseTiming>;
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Observed {
  readonly resourceVersion: string;
  readonly spec: LeaseSpec;
  readonly atMs: number;
}

/** Longest wait for one answer, so that a hanging connection leaves time for another attempt. */
const attemptMs = 4000;
/** A process whose timers are so late stood still. */
const stillMs = 1000;
const defaultTiming: LeaseTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000, random: Math.random };

/**
 * Waits for the lease, then runs `lead`; returns after it, or when `signal` aborts.
 * @throws LeaseLost (end the process), or what `lead` throws
 */
export async function runWithLease(options: LeaseOptions): Promise<void> {
  const lease = new HeldLease(options);
  if (!(await lease.acquire())) return;
  options.log.info({ lease: options.name, identity: options.identity }, 'leading');
  const work = new AbortController();
  const done = new AbortController();
  const onEnd = () => work.abort(options.signal.reason);
  options.signal.addEventListener('abort', onEnd, { once: true });
  if (options.signal.aborted) onEnd();
  const leading = options.lead(work.signal).finally(() => done.abort());
  const renewing = lease.renewUntil(done.signal);
  try {
    await Promise.race([leading, renewing]);
    // The lease is kept until the work has ended.
    await leading;
  } catch (error) {
    if (error instanceof LeaseLost) {
      work.abort(error);
      // The caller gets the loss; the result of the work no longer matters.
      leading.catch(() => undefined);
    }
    if (!(options.signal.aborted && error === options.signal.reason)) throw error;
  } finally {
    options.signal.removeEventListener('abort', onEnd);
    done.abort();
    const isKept = await renewing.then(
      () => true,
      () => false,
    );
    if (isKept) await lease.release();
  }
}

class HeldLease {
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  #observed: Observed | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  /** True once held, false when the signal aborted first. */
  async acquire(): Promise<boolean> {
    const { signal, log, name } = this.#options;
    while (!signal.aborted) {
      try {
        if (await this.#tryToHold(attemptMs)) return true;
      } catch (error) {
        if (signal.aborted as boolean) return false;
        if (!isKubeError(error)) throw error;
        log.warn({ lease: name, error: error.message }, 'cannot read or take the lease, trying again');
      }
      await this.#pause(signal);
    }
    return false;
  }

  /** Renews until `done`. @throws LeaseLost */
  async renewUntil(done: AbortSignal): Promise<void> {
    const { name, log } = this.#options;
    const { renewDeadlineMs } = this.#timing;
    let renewedMs = performance.now();
    let hasFailed = false;
    for (;;) {
      await this.#pause(done);
      if (done.aborted) return;
      const startedMs = performance.now();
      const leftMs = renewDeadlineMs - (startedMs - renewedMs);
      // A process that stood still, as during a long round on a busy machine, has not tried. The server refuses its write if another leads.
      if (leftMs <= 0 && hasFailed) throw new LeaseLost(`lease ${name} could not be renewed for ${renewDeadlineMs} ms`);
      const timeoutMs = leftMs <= 0 ? attemptMs : Math.min(leftMs, attemptMs);
      try {
        if (!(await this.#tryToHold(timeoutMs))) throw new LeaseLost(`lease ${name} is now held by ${this.#holder()}`);
        renewedMs = startedMs;
        hasFailed = false;
      } catch (error) {
        if (!isKubeError(error)) throw error;
        log.warn({ lease: name, error: error.message }, 'lease not renewed, trying again');
        hasFailed ||= performance.now() - startedMs < timeoutMs + stillMs;
      }
    }
  }

  /** Releases the lease, so that a successor need not wait until it expires. After a failure the successor waits. */
  async release(): Promise<void> {
    try {
      await this.#write({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() }, this.#timing.retryMs);
      this.#options.log.info({ lease: this.#options.name }, 'lease handed back');
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.#options.log.warn({ lease: this.#options.name, error: error.message }, 'lease not handed back');
    }
  }

  /** One attempt to take or renew; false when another holds it. */
  async #tryToHold(timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    const leftMs = () => Math.max(1, deadlineMs - performance.now());
    const isOurs = this.#holder() === this.#options.identity;
    try {
      if (!isOurs) await this.#read(leftMs());
      if (!this.#isFree()) return false;
      await this.#write(this.#spec(), leftMs());
      return true;
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      if (error.status === 404) return this.#create(leftMs());
      if (error.status !== 409) throw error;
      // Another client has written the lease: read it again, the next round decides.
      await this.#read(leftMs());
      if (isOurs && this.#holder() === this.#options.identity) return this.#tryOnceMore(leftMs());
      return false;
    }
  }

  /** This process still holds the lease, but in another version: an answer to its write was lost, or the labels were edited. */
  async #tryOnceMore(timeoutMs: number): Promise<boolean> {
    await this.#write(this.#spec(), timeoutMs);
    return true;
  }

  #isFree(): boolean {
    const holder = this.#holder();
    if (holder === '' || holder === this.#options.identity) return true;
    const { spec, atMs } = this.#observed ?? { spec: {}, atMs: 0 };
    const leaseMs = spec.leaseDurationSeconds === undefined ? this.#timing.leaseMs : spec.leaseDurationSeconds * 1000;
    return performance.now() - atMs > leaseMs;
  }

  #holder(): string {
    return this.#observed?.spec.holderIdentity ?? '';
  }

  /** The spec that the holder writes: a new holder counts as a transition. */
  #spec(): LeaseSpec {
    const before = this.#observed?.spec;
    const isOurs = before?.holderIdentity === this.#options.identity;
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseMs / 1000),
      renewTime: microTime(),
      ...(isOurs
        ? {}
        : {
            acquireTime: microTime(),
            leaseTransitions: (before?.leaseTransitions ?? 0) + (before === undefined ? 0 : 1),
          }),
    };
  }

  async #read(timeoutMs: number): Promise<void> {
    const { client, namespace, name } = this.#options;
    this.#observe(await client.request('GET', objectPath(leases, { namespace, name }), undefined, { timeoutMs }));
  }

  async #write(spec: LeaseSpec, timeoutMs: number): Promise<void> {
    const { client, namespace, name } = this.#options;
    const body = { metadata: { resourceVersion: this.#observed?.resourceVersion }, spec };
    const path = objectPath(leases, { namespace, name });
    this.#observe(
      await client.request('PATCH', path, body, { contentType: 'application/merge-patch+json', timeoutMs }),
    );
  }

  async #create(timeoutMs: number): Promise<boolean> {
    const { client, namespace, name, identity } = this.#options;
    this.#observed = undefined;
    const object = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace },
      spec: this.#spec(),
    };
    const path = objectPath(leases, { namespace, name }).slice(0, -(name.length + 1));
    try {
      this.#observe(await client.request('POST', path, object, { timeoutMs }));
    } catch (error) {
      // Another candidate was first.
      if (error instanceof KubeApiError && error.status === 409) return false;
      throw error;
    }
    return this.#holder() === identity;
  }

  /** The time of observation changes only when the lease changes. */
  #observe(raw: unknown): void {
    const { metadata, spec } = raw as { metadata: { resourceVersion: string }; spec?: LeaseSpec };
    const isSame =
      this.#observed?.spec.renewTime === spec?.renewTime && this.#holder() === (spec?.holderIdentity ?? '');
    const atMs = isSame && this.#observed ? this.#observed.atMs : performance.now();
    this.#observed = { resourceVersion: metadata.resourceVersion, spec: spec ?? {}, atMs };
  }

  async #pause(signal: AbortSignal): Promise<void> {
    // Jitter keeps candidates from sending requests at the same moment; only an abort ends the pause early.
    const delayMs = this.#timing.retryMs * (1 + 0.2 * this.#timing.random());
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
  }
}

/** RFC 3339 with microseconds, as Lease times are written. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}
