/** For tests and the lab: waits for a state that no event reports. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** An answer that describes the missing part. */
export class NotYet {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** The answer of a check that has to wait longer, with the reason for the error's message. */
export function notYet(why: string): NotYet {
  return new NotYet(why);
}

type Answer<T> = Exclude<T, false | null | undefined | NotYet>;

/** Many checks start a program: after a longer wait they are repeated at intervals of this share of it, up to a second. */
const restShare = 0.04;
const longestRestMs = 1000;
const usualEveryMs = 100;

/**
 * Repeats `check`, at growing intervals up to `everyMs`, until it throws nothing and returns something other than false, null, undefined
 * and `notYet`, and gives that. Without `everyMs` the intervals go on growing with the wait. The limit only keeps a test from hanging.
 * @throws Error that names what was awaited, and what `check` returned or threw last
 */
export async function eventually<T>(
  what: string,
  check: () => Promise<T> | T,
  timeoutMs = 120_000,
  everyMs?: number,
): Promise<Answer<T>> {
  const startMs = performance.now();
  for (let pauseMs = 10; ; pauseMs *= 1.5) {
    let last: unknown;
    try {
      const value = await check();
      if (isAnswer(value)) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    const waitedMs = performance.now() - startMs;
    if (waitedMs > timeoutMs)
      throw new Error(`${what}: not within ${timeoutMs} ms; last ${stateOf(last)}`, { cause: last });
    await sleep(Math.min(pauseMs, everyMs ?? restMs(waitedMs)));
  }
}

/**
 * Repeats a check of assertions until it throws nothing and does not return false, and gives what it returns, also undefined.
 * @throws Error like that of `eventually`, with the text of `check` for a name
 */
export async function eventuallyPasses<T>(
  check: () => Promise<T> | T,
  timeoutMs?: number,
  everyMs?: number,
): Promise<T> {
  const passed = async (): Promise<readonly [T] | false> => {
    const value = await check();
    return value !== false && [value];
  };
  const [value] = await eventually(check.toString(), passed, timeoutMs, everyMs);
  return value;
}

/** The longest time between two looks after so long a wait, where no interval is asked for. */
export function restMs(waitedMs: number): number {
  return Math.min(Math.max(usualEveryMs, waitedMs * restShare), longestRestMs);
}

function isAnswer<T>(value: T): value is Answer<T> {
  return value !== undefined && value !== null && value !== false && !(value instanceof NotYet);
}

function stateOf(last: unknown): string {
  if (last instanceof Error) return `error: ${last.message}`;
  return `answer: ${last instanceof NotYet ? last.why : inspect(last, { depth: 4 })}`;
}
