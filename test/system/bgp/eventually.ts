import { eventually as eventuallyNamed } from '../../../lib/testing-eventually.ts';

/**
 * The shortest of several measurements, in ms: a busy machine delays some of them, a wait in the product delays all.
 * Repeats only while no measurement was below `enoughMs`.
 */
export async function shortestOf(measure: () => Promise<number>, enoughMs: number): Promise<number> {
  let shortestMs = Infinity;
  for (let times = 0; times < 5 && shortestMs >= enoughMs; times++) shortestMs = Math.min(shortestMs, await measure());
  return shortestMs;
}

/** Waits until `check` neither throws nor returns false; returns its value. Unlike in `lib/testing-eventually.ts`, a check may return nothing. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 60_000, everyMs = 50): Promise<T> {
  const passed = async (): Promise<readonly [T] | false> => {
    const value = await check();
    return value !== false && [value];
  };
  const [value] = await eventuallyNamed(check.toString(), passed, timeoutMs, everyMs);
  return value;
}
