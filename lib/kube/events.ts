import { createHash } from 'node:crypto';
import type { Logger } from '../run/logger.ts';
import { type BucketLimits, TokenBucket } from '../run/token-bucket.ts';
import { KubeApiError } from './errors.ts';
import { events } from './resources.ts';
import type { KubeClient } from './types.ts';
import { ObjectWriter } from './writer.ts';

/** The object and the source of an event. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** The room; `kubectl describe` shows it as the source. */
  readonly component: string;
  /** The process of the room: a node's or a pod's name. */
  readonly instance: string;
  /** The instance does not share its events with other instances, because it may not write theirs. By default a room's instances share events. */
  readonly isApart?: boolean;
  readonly signal?: AbortSignal;
  readonly log?: Logger;
  readonly limits?: Partial<EventLimits>;
}

/** One bucket per object and reason. */
export interface EventLimits extends BucketLimits {
  /** Events and allowances kept in memory. */
  readonly remembered: number;
  readonly nowMs: () => number;
}

const defaultLimits: EventLimits = { burst: 10, refillMs: 60_000, remembered: 4096, nowMs: Date.now };
/** The API server refuses longer messages. */
const longestMessage = 1024;

/**
 * Publishes events of an object. Repetitions of an event increase the count of one Event object, also across restarts;
 * frequent repetitions are rate-limited. Never throws and never delays the caller.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limits: EventLimits;
  readonly #writer: ObjectWriter;
  /** Count by event name; the oldest entry is evicted first. */
  readonly #counts = new Map<string, number>();
  readonly #allowances = new Map<string, TokenBucket>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#writer = new ObjectWriter({
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.log === undefined ? {} : { log: options.log }),
      timing: { qps: 20, burst: 100, parallel: 2 },
      onRefused: (key, error) => options.log?.warn({ event: key, error: error.message }, 'event not written'),
    });
  }

  /** `reason` is CamelCase; `message` one sentence. */
  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (!this.#isAllowed(`${subject.uid || subject.name} ${reason}`)) return;
    const text = message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
    const { component, instance, isApart = false } = this.#options;
    const name = eventName(subject, [component, ...(isApart ? [instance] : []), type, reason, text]);
    const namespace = subject.namespace ?? 'default';
    const seen = (this.#counts.get(name) ?? 0) + 1;
    this.#remember(this.#counts, name, seen);
    const now = new Date(this.#limits.nowMs()).toISOString();
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: { ...subject },
      type,
      reason,
      message: text,
      count: seen,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component, host: instance },
      reportingComponent: component,
      reportingInstance: instance,
    };
    void this.#writer.enqueue(`${namespace}/${name}`, () => this.#write(event));
  }

  /** Resolves when everything recorded so far is written or refused. */
  idle(): Promise<void> {
    return this.#writer.idle();
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }

  async #write(event: {
    metadata: { name: string; namespace: string };
    count: number;
    lastTimestamp: string;
  }): Promise<void> {
    const { client } = this.#options;
    const { name, namespace } = event.metadata;
    const patch = (count: number) =>
      client.patch(events, { name, namespace }, 'merge', { count, lastTimestamp: event.lastTimestamp });
    if (event.count > 1) {
      try {
        await patch(event.count);
        return;
      } catch (error) {
        // The API server deletes events after an hour: this event starts again.
        if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
      }
    }
    try {
      await client.create(events, event);
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 409) throw error;
      // Written before this process started.
      const known = await client.get(events, { name, namespace });
      const count = (typeof known['count'] === 'number' ? known['count'] : 0) + 1;
      this.#remember(this.#counts, name, count);
      await patch(count);
    }
  }

  #isAllowed(key: string): boolean {
    const now = this.#limits.nowMs();
    const allowance = this.#allowances.get(key) ?? new TokenBucket(this.#limits, now);
    this.#remember(this.#allowances, key, allowance);
    return allowance.take(now);
  }

  #remember<V>(map: Map<string, V>, key: string, value: V): void {
    map.delete(key);
    map.set(key, value);
    if (map.size <= this.#limits.remembered) return;
    const oldest = map.keys().next();
    if (!oldest.done) map.delete(oldest.value);
  }
}

/** The same words about the same object yield the same name, also after a restart. */
function eventName(subject: EventSubject, words: readonly string[]): string {
  const identity = [subject.apiVersion, subject.kind, subject.namespace ?? '', subject.name, subject.uid, ...words];
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
  return `${subject.name.slice(0, 200)}.${digest}`;
}
