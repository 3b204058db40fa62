/**
 * Notices a fight over rows: an owner's unchanged rows written again and again because another client of the database
 * changes them. Pure; the clock comes with each call.
 */
const windowMs = 10_000;
const mostRewrites = 5;

export class RewriteGuard {
  readonly #rewrites = new Map<string, number[]>();

  /** Records that unchanged rows of `owner` had to be written; true when it happens too often to go on at once. */
  record(owner: string, nowMs: number): boolean {
    const recent = (this.#rewrites.get(owner) ?? []).filter((atMs) => nowMs - atMs < windowMs);
    recent.push(nowMs);
    this.#rewrites.set(owner, recent);
    return recent.length > mostRewrites;
  }

  forget(owner: string): void {
    this.#rewrites.delete(owner);
  }
}
