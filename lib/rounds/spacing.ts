/** Of the time, work that is repeated may take one part in so many. */
const share = 5;

/** The spacing of rounds that follow something which changes all the time: at least this long, and longer where a round takes long. */
export function spacingUnderLoad(leastMs: number): (tookMs: number) => number {
  return (tookMs) => Math.max(leastMs + tookMs, share * tookMs);
}

/** The spacing of rounds that a person or a packet may wait for: as above, but no request waits longer than this after a round. */
export function spacingWithin(longestMs: number): (tookMs: number) => number {
  return (tookMs) => Math.min(share * tookMs, tookMs + longestMs);
}
