/** Subscribes to something that changes; returns how to stop. */
export type Subscribe = (onChange: () => void) => () => void;

/**
 * Waits, without polling, until `probe` gives something: it is asked at once and after each change. @throws what `probe`
 * throws, and the signal's reason when it aborts before
 */
export function until<T>(
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

/** The same, but no longer than `longestMs`, after which it resolves as well. @throws what `probe` throws */
export async function untilOrLate(
  sources: readonly Subscribe[],
  probe: () => boolean,
  longestMs: number,
): Promise<void> {
  await orLate((signal) => until(sources, () => probe() || undefined, signal), longestMs);
}

/** Waits for `work`, whose signal aborts after `longestMs`: then it resolves as well. @throws what `work` throws else */
export async function orLate(work: (signal: AbortSignal) => Promise<unknown>, longestMs: number): Promise<void> {
  const late = new AbortController();
  // A signal of AbortSignal.timeout would live on until then, and make an error with a stack that nobody reads.
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
