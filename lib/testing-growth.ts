/** How the cost of work grows with its size: what tests can hold to on a machine of any speed that others use as well. */

export interface Work {
  /** Does it once at its smaller size. */
  readonly small: () => unknown;
  readonly large: () => unknown;
}

const times = 4;

/** How often the CPU time of the small goes into that of the large; of each the least of a few, which are taken in turn. */
export async function growthOf({ small, large }: Work): Promise<number> {
  let [least, most] = [Infinity, Infinity];
  for (let time = 0; time < times; time += 1) {
    least = Math.min(least, await cpuMsOf(small));
    most = Math.min(most, await cpuMsOf(large));
  }
  return most / least;
}

/** CPU time of this process in milliseconds, which waiting does not count in. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
