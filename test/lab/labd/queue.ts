/** Work by key: one run at a time for a key, a bounded number in all, and again after a failure with growing pauses. */

export interface QueueOptions {
  readonly run: (key: string) => Promise<void>;
  readonly onFailure: (key: string, error: unknown) => void;
  readonly parallel: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

interface Entry {
  isRunning: boolean;
  isDirty: boolean;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

export class KeyedQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting: string[] = [];
  #running = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Enqueues the key; a key that is running runs once more afterwards. A delay after a failure is not shortened. */
  add(key: string): void {
    const entry = this.#entries.get(key) ?? { isRunning: false, isDirty: false, failures: 0, timer: undefined };
    this.#entries.set(key, entry);
    if (entry.isDirty || entry.timer !== undefined) return;
    entry.isDirty = true;
    if (!entry.isRunning) this.#waiting.push(key);
    this.#next();
  }

  #next(): void {
    while (this.#running < this.#options.parallel) {
      const key = this.#waiting.shift();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      if (entry) void this.#run(key, entry);
    }
  }

  async #run(key: string, entry: Entry): Promise<void> {
    this.#running += 1;
    entry.isRunning = true;
    entry.isDirty = false;
    try {
      await this.#options.run(key);
      entry.failures = 0;
    } catch (error) {
      this.#options.onFailure(key, error);
      this.#pause(key, entry);
    }
    this.#running -= 1;
    entry.isRunning = false;
    if ((entry.isDirty as boolean) && entry.timer === undefined) this.#waiting.push(key);
    else if (entry.timer === undefined) this.#entries.delete(key);
    this.#next();
  }

  #pause(key: string, entry: Entry): void {
    const pauseMs = Math.min(this.#options.firstPauseMs * 2 ** entry.failures, this.#options.longestPauseMs);
    entry.failures += 1;
    entry.isDirty = false;
    entry.timer = setTimeout(() => {
      entry.timer = undefined;
      this.add(key);
    }, pauseMs);
  }
}
