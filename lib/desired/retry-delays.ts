/** When to try again what the database refused: 1 s, doubling to 60 s, per owner or column. */
const firstMs = 1000;
const longestMs = 60_000;

export class RetryDelays {
  readonly #again: (owner: string) => void;
  readonly #pending = new Map<string, { delayMs: number; timer: NodeJS.Timeout }>();

  constructor(again: (owner: string) => void) {
    this.#again = again;
  }

  retry(owner: string): void {
    this.#start(owner, () => this.#again(owner));
  }

  retryColumn(id: string, again: () => void): void {
    this.#start(id, again);
  }

  forget(id: string): void {
    clearTimeout(this.#pending.get(id)?.timer);
    this.#pending.delete(id);
  }

  clear(): void {
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
  }

  #start(id: string, action: () => void): void {
    const before = this.#pending.get(id);
    clearTimeout(before?.timer);
    const delayMs = Math.min(longestMs, before === undefined ? firstMs : before.delayMs * 2);
    this.#pending.set(id, { delayMs, timer: setTimeout(action, delayMs) });
  }
}
