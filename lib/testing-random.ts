/** For tests: numbers that look random and are the same for the same seed, so that a failure can be repeated. */

/** Integers from 0, below a limit. */
export type Random = (limit: number) => number;

/** By mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

export function pick<T>(random: Random, values: readonly T[]): T {
  return values[random(values.length)] as T;
}
