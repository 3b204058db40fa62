import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `check` neither throws nor returns false, and gives its value; after `timeoutMs` what it said last is thrown. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 15_000, everyMs = 50): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      const value = await check();
      if (value !== false || performance.now() > deadline) return value;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(everyMs);
  }
}
