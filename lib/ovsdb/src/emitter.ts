/** Listeners of one kind of news. */
export class Emitter<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: Arguments) => void>();

  /** Returns what takes the listener off again. */
  on(listener: (...args: Arguments) => void): () => void {
    const own = (...args: Arguments): void => listener(...args);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Tells every listener. What one throws surfaces as an uncaught exception; the others are told all the same. */
  emit(...args: Arguments): void {
    for (const listener of this.#listeners) {
      try {
        listener(...args);
      } catch (error) {
        process.nextTick(() => {
          throw error;
        });
      }
    }
  }
}
