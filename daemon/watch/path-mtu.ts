/** Finds the largest packet that passes a path, by probing. Answers may be lost, so a missing answer must not be taken for the size limit. */

export interface PathMtuSearch {
  /** Wanted IP packet size in bytes; larger sizes are not probed. */
  readonly wanted: number;
  /** The smallest size to probe, which every path must pass. */
  readonly least: number;
  /** Result of the last search. */
  readonly hint: number | undefined;
  readonly passes: (size: number) => Promise<boolean>;
}

/** Size in bytes; undefined if not even the smallest size is answered. */
export async function findPathMtu({ wanted, least, hint, passes }: PathMtuSearch): Promise<number | undefined> {
  if (await passes(wanted)) return wanted;
  if (wanted <= least || !(await passes(least))) return undefined;
  let low = least;
  let high = wanted;
  if (hint !== undefined && hint > low && hint < high) {
    if (!(await passes(hint))) high = hint;
    else if (hint + 1 === high || !(await passes(hint + 1))) [low, high] = [hint, hint + 1];
    else low = hint + 1;
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (await passes(middle)) low = middle;
    else high = middle;
  }
  // Otherwise an outage during the first probe would look like a smaller path MTU.
  return (await passes(wanted)) ? wanted : low;
}
