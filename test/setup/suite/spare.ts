/** How many jobs run at once: more where the machine has CPU time to spare, as many jobs wait for their servers most of the time. */
import { cpus } from 'node:os';

/** Of all processors, since some time. */
export interface CpuTimes {
  readonly idleMs: number;
  readonly allMs: number;
}

/** The idle share of the CPU time below which there is one job too many. */
const none = 0.1;
/** Jobs beyond the usual number. */
const mostMore = 3;

/**
 * One more where a job of the average cost of those that run fits in.
 * @param share idle since the number was chosen
 * @param usual the least number
 */
export function atOnceFor(share: number, now: number, usual: number): number {
  if (share >= 1 / (now + 1)) return Math.min(now + 1, usual + mostMore);
  return share < none ? Math.max(now - 1, usual) : now;
}

/** Measures the share of idle CPU time from one look to the next. */
export class IdleTime {
  readonly #read: () => CpuTimes;
  #since: CpuTimes;

  /** @param read for tests */
  constructor(read: () => CpuTimes = readTimes) {
    this.#read = read;
    this.#since = read();
  }

  /** Since the last look; 0 if no time was counted. */
  look(): number {
    const [before, now] = [this.#since, this.#read()];
    this.#since = now;
    const allMs = now.allMs - before.allMs;
    return allMs > 0 ? (now.idleMs - before.idleMs) / allMs : 0;
  }
}

function readTimes(): CpuTimes {
  const times = cpus().map((cpu) => cpu.times);
  const idleMs = times.reduce((sum, { idle }) => sum + idle, 0);
  const allMs = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return { idleMs, allMs };
}
