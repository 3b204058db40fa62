/** Waits until Kubernetes objects have the wanted state. Called by the commands that change something. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Time between two readings; 250 ms by default. */
  readonly pauseMs?: number;
}

const usualPauseMs = 250;

/** The first defined result of `look` and the time it took; `value` is undefined if there was none in time. */
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
