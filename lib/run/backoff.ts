/** Bounds of an exponential back-off, in milliseconds. */
export interface BackoffLimits {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Full-jitter delay in milliseconds before attempt `attempt` (0 = first retry); `random` gives [0, 1). Pure. */
export function backoffMs(attempt: number, limits: BackoffLimits, random: () => number): number {
  // 2^31 is past every sensible maximum and keeps the product finite.
  const ceiling = Math.min(limits.maxMs, limits.baseMs * 2 ** Math.min(attempt, 31));
  return Math.floor(random() * ceiling);
}
