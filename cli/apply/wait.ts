/** Waits for objects of Kubernetes to be as wanted. Who calls: the commands that change something. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Between two looks; a quarter of a second by default. */
  readonly pauseMs?: number;
}

const usualPauseMs = 250;

/** What `look` gave when it first was something, and how long that took; `value` undefined where it did not in time. */
export async function waitFor<T>(
  look: () => Promise<T | undefined>,
  { timeoutMs, signal, pauseMs = usualPauseMs }: Patience,
): Promise<{ readonly value: T | undefined; readonly tookMs: number }> {
  const beganMs = performance.now();
  for (;;) {
    const value = await look();
    const tookMs = performance.now() - beganMs;
    if (value !== undefined || tookMs >= timeoutMs) return { value, tookMs };
    await sleep(Math.min(pauseMs, timeoutMs - tookMs), undefined, { signal });
  }
}
