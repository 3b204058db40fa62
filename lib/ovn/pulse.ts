/**
 * Whether a database answers, found out by asking it. In: a client, and a beat from the caller's clock. Out: since when it
 * is silent. A question that only has a comment changes no row and is not logged, so that asking costs next to nothing; one
 * that is unanswered shows what a connection alone does not: a frozen server, and a raft cluster without a majority.
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

  /** Asks, unless an earlier question is still out. Resolves once that is answered, or cannot be any more. */
  async beat(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#unansweredMs ??= this.#options.now();
    if (await this.#ask()) this.#unansweredMs = undefined;
    this.#isAsking = false;
  }

  /** When the first question went out that has no answer yet, Unix milliseconds; undefined: all are answered. */
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
      // A refusal is an answer.
      return error instanceof TransactionRejected;
    }
  }
}
