/** For tests: waits for a state that no event reports. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/**
 * Repeats `check` until it throws nothing and returns something other than false, null and undefined, and gives that.
 * The limit only keeps a test from hanging.
 * @throws Error that names what was awaited, and what `check` returned or threw last
 */
export async function eventually<T>(
  what: string,
  check: () => Promise<T> | T,
  timeoutMs = 120_000,
  everyMs = 40,
): Promise<Exclude<T, false | null | undefined>> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    let last: unknown;
    try {
      const value = await check();
      if (value !== undefined && value !== null && value !== false)
        return value as Exclude<T, false | null | undefined>;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs)
      throw new Error(`${what}: not within ${timeoutMs} ms; last ${stateOf(last)}`, { cause: last });
    await sleep(everyMs);
  }
}

function stateOf(last: unknown): string {
  return last instanceof Error ? `error: ${last.message}` : `answer: ${inspect(last, { depth: 4 })}`;
}
