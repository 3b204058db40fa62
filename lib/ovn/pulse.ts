/**
 * Probes whether a database answers. In: a client, and a beat from the caller's clock. Out: the time since which it is
 * silent. A probe is a transaction with only a comment: it changes no row and is not logged, so it costs next to nothing.
 * An unanswered probe shows failures that the connection does not: a frozen server, and a raft cluster without a majority.
 */
import { OvsdbError, TransactionRejected, type Operation, type OvsdbClient } from 'ovsdb-client';

export interface PulseOptions {
  readonly client: Pick<OvsdbClient, 'transact'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const question: readonly Operation[] = [{ op: 'comment', comment: 'does it answer' }];

export class Pulse {
  readonly #options: PulseOptions;
  #isAsking = false;
  #unansweredMs: number | undefined;

  constructor(options: PulseOptions) {
    this.#options = options;
  }

  /** Sends a probe, unless an earlier probe is pending. Resolves once it is answered, or can no longer be answered. */
  async beat(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#unansweredMs ??= this.#options.now();
    if (await this.#ask()) this.#unansweredMs = undefined;
    this.#isAsking = false;
  }

  /** When the first unanswered probe was sent, Unix milliseconds; undefined: all are answered. */
  get unansweredMs(): number | undefined {
    return this.#unansweredMs;
  }

  /** The same, once it is longer ago than `patienceMs`. */
  silentSinceMs(patienceMs: number): number | undefined {
    const sinceMs = this.#unansweredMs;
    return sinceMs !== undefined && this.#options.now() - sinceMs >= patienceMs ? sinceMs : undefined;
  }

  async #ask(): Promise<boolean> {
    try {
      await this.#options.client.transact(question);
      return true;
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      // A refusal counts as an answer.
      return error instanceof TransactionRejected;
    }
  }
}
