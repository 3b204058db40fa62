/** Finds the largest packet that a path takes, by asking; several answers may be lost, and none may be taken for one. */

export interface PathMtuSearch {
  /** IP packet size that is wanted, in bytes; more is not looked for. */
  readonly wanted: number;
  /** Smallest size worth asking, which every path must take. */
  readonly least: number;
  /** What was found last time. */
  readonly hint: number | undefined;
  readonly passes: (size: number) => Promise<boolean>;
}

/** In bytes; undefined where not even the least is answered, so that nothing can be said of sizes. */
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
  // An outage during the first question would else become a path that is too small.
  return (await passes(wanted)) ? wanted : low;
}
