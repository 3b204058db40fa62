/** Listeners of one kind of news. */
export class Emitter<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: Arguments) => void>();

  /** Returns a function that removes the listener. */
  on(listener: (...args: Arguments) => void): () => void {
    const own = (...args: Arguments): void => listener(...args);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Calls every listener. An error of a listener surfaces as an uncaught exception; the other listeners are called nevertheless. */
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
