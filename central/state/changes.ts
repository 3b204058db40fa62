/** Tells those that wait that something they look at has changed. A change wakes all that wait at that time. */
export class Changes {
  readonly #waiting = new Set<() => void>();

  tell(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Resolves with the next change, or when nobody waits for it any more. */
  next(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const leave = (): void => {
      this.#waiting.delete(resolve);
      resolve();
    };
    signal.addEventListener('abort', leave, { once: true });
    return promise;
  }
}
