/** The clock and the timers that rounds run by; tests have their own. */
export interface Timers {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Calls back after the delay, 0: at the next turn of the event loop. Returns how to cancel it. */
  readonly after: (delayMs: number, callback: () => void) => () => void;
}

/** The longest delay of a timer of Node; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

export const realTimers: Timers = {
  nowMs: () => performance.now(),
  after(delayMs, callback) {
    if (delayMs <= 0) {
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(callback, Math.min(delayMs, longestMs));
    return () => clearTimeout(timer);
  },
};
