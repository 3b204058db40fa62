/**
 * Deletions of NetworkPolicies, after the deletion of their Namespace. Kubernetes deletes the contents of a Namespace once that is being deleted, but the watches of policies and of
 * Namespaces are two, and the first one may be ahead: the policy would end while pods are left (CVE-2024-7598). In: deleted policies, and Namespaces that are not being deleted. Out: the
 * deletions, once the API server has said that the Namespace was not being deleted at that time, or the watch of Namespaces has shown that it is. Rule: without an answer the policy stays.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeApiError, KubeUnreachable } from '../../lib/kube/errors.ts';
import { namespaces } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { runAtMost, waitUntil } from '../../lib/run/wait-until.ts';

export interface PolicyDeletionsOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, 'warn'>;
  /** Called with the key of a policy that is deleted. */
  readonly deliver: (key: string) => void;
  readonly timing?: Partial<PolicyDeletionsTiming>;
}

export interface PolicyDeletionsTiming {
  /** Milliseconds after which a question that failed is asked again; twice as long after each further failure. */
  readonly retryMs: number;
  readonly longestRetryMs: number;
  /** Milliseconds after which a Namespace is asked about again that the watch does not know to be ending. */
  readonly againMs: number;
  /** Namespaces that are asked about at once. */
  readonly parallel: number;
}

const defaultTiming: PolicyDeletionsTiming = { retryMs: 1000, longestRetryMs: 30_000, againMs: 10_000, parallel: 4 };

export class PolicyDeletions {
  readonly #options: PolicyDeletionsOptions;
  readonly #timing: PolicyDeletionsTiming;
  /** Namespaces that the watch knows and that are not being deleted. */
  readonly #open = new Set<string>();
  /** Deleted policies by namespace, each with an object of its own for this deletion; a namespace with an entry is being asked about. */
  readonly #waiting = new Map<string, Map<string, object>>();
  readonly #listeners = new Set<() => void>();
  /** Questions that wait until there are fewer at once. */
  readonly #queue: (() => void)[] = [];
  #atOnce = 0;
  #hasFailed = false;

  constructor(options: PolicyDeletionsOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  /** What the watch of Namespaces says; undefined if there is none of this name. To be called after the state knows it. */
  namespaceChanged(name: string, namespace: { readonly isDeleting: boolean } | undefined): void {
    if (namespace?.isDeleting === false) this.#open.add(name);
    else this.#open.delete(name);
    for (const listener of this.#listeners) listener();
  }

  /** A policy was deleted. */
  deleted(key: string): void {
    const namespace = key.slice(0, key.indexOf('/'));
    const waiting = this.#waiting.get(namespace);
    if (waiting !== undefined) waiting.set(key, {});
    else if (!this.#open.has(namespace)) this.#options.deliver(key);
    else {
      this.#waiting.set(namespace, new Map([[key, {}]]));
      void this.#ask(namespace);
    }
  }

  /** There is a policy of this name again. */
  exists(key: string): void {
    this.#waiting.get(key.slice(0, key.indexOf('/')))?.delete(key);
  }

  async #ask(namespace: string): Promise<void> {
    const { signal, deliver } = this.#options;
    let retryMs = this.#timing.retryMs;
    for (;;) {
      const waiting = this.#waiting.get(namespace);
      if (waiting === undefined || waiting.size === 0) break;
      if (this.#atOnce < this.#timing.parallel) this.#atOnce += 1;
      else await new Promise<void>((resolve) => this.#queue.push(resolve));
      // Those that are deleted from here on need an answer that is younger than they are.
      const asked = [...waiting];
      try {
        const isEnding = await this.#isEnding(namespace).finally(() => this.#done());
        // A watch that was interrupted may never tell of an end: by then there is another Namespace of this name.
        if (isEnding && !(await this.#isSeenEnding(namespace))) continue;
        this.#hasFailed = false;
        for (const [key, deletion] of asked) {
          if (waiting.get(key) !== deletion) continue;
          waiting.delete(key);
          deliver(key);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof KubeApiError || error instanceof KubeUnreachable)) throw error;
        this.#warn(namespace, error);
        await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
        if (signal.aborted as boolean) return;
        retryMs = Math.min(2 * retryMs, this.#timing.longestRetryMs);
      }
    }
    this.#waiting.delete(namespace);
  }

  /** The next question takes the place of one that has its answer. */
  #done(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#atOnce -= 1;
    else next();
  }

  /** One line for all Namespaces, until there is an answer again. */
  #warn(namespace: string, error: Error): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.log.warn(
      { err: error, namespace, namespaces: this.#waiting.size },
      'deleted policies stay in force until the API server says whether their Namespaces are being deleted',
    );
  }

  async #isEnding(name: string): Promise<boolean> {
    try {
      const { metadata } = await this.#options.client.get(namespaces, { name }, { signal: this.#options.signal });
      return metadata.deletionTimestamp !== undefined;
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) return true;
      throw error;
    }
  }

  /** Whether the watch shows within a while that the Namespace is being deleted. @throws the signal's reason if it aborts */
  async #isSeenEnding(namespace: string): Promise<boolean> {
    const onChange = (check: () => void): (() => void) => {
      this.#listeners.add(check);
      return () => this.#listeners.delete(check);
    };
    const { signal } = this.#options;
    let isSeen = false;
    await runAtMost(async (late) => {
      const either = AbortSignal.any([signal, late]);
      isSeen = await waitUntil([onChange], () => (this.#open.has(namespace) ? undefined : true), either);
    }, this.#timing.againMs);
    return isSeen;
  }
}
