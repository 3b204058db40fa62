/** Waits for a condition without polling: sources of changes trigger each check. */

/** Subscribes to changes; returns a function that unsubscribes. */
export type Subscribe = (onChange: () => void) => () => void;

/**
 * Resolves with the first result of `probe` that is neither null nor undefined. `probe` runs at once and after each change of the sources.
 * @throws what `probe` throws, and the signal's reason if it aborts first
 */
export function waitUntil<T>(
  sources: readonly Subscribe[],
  probe: () => T | undefined,
  signal: AbortSignal,
): Promise<NonNullable<T>> {
  return new Promise((resolve, reject) => {
    const stops: (() => void)[] = [];
    const finish = (settle: () => void): void => {
      for (const stop of stops.splice(0)) stop();
      settle();
    };
    const check = (): void => {
      try {
        const found = probe();
        if (found !== undefined && found !== null) finish(() => resolve(found));
        else if (signal.aborted) finish(() => reject(signal.reason as Error));
      } catch (error) {
        finish(() => reject(error));
      }
    };
    signal.addEventListener('abort', check, { once: true });
    stops.push(() => signal.removeEventListener('abort', check), ...sources.map((subscribe) => subscribe(check)));
    check();
  });
}

/** Like `waitUntil`, but resolves after `longestMs` at the latest. @throws what `probe` throws */
export async function waitAtMost(
  sources: readonly Subscribe[],
  probe: () => boolean,
  longestMs: number,
): Promise<void> {
  await runAtMost((signal) => waitUntil(sources, () => probe() || undefined, signal), longestMs);
}

/** Runs `work` with a signal that aborts after `longestMs`, and resolves then as well. @throws any other error of `work` */
export async function runAtMost(work: (signal: AbortSignal) => Promise<unknown>, longestMs: number): Promise<void> {
  const late = new AbortController();
  // AbortSignal.timeout would live until its time is over, and create an error with an unused stack.
  const timer = setTimeout(() => late.abort(tooLate), longestMs).unref();
  try {
    await work(late.signal);
  } catch (error) {
    if (error !== late.signal.reason) throw error;
  } finally {
    clearTimeout(timer);
  }
}

const tooLate = new Error('too late');
