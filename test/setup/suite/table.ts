/** Summary of the suite: the slowest files and phases, and the counts in the test runner's format. Pure. */
import type { Counts, FileResult } from './results.ts';

/** Lines of an error beside its first one. */
const mostErrorLines = 5;

export interface Timing {
  readonly name: string;
  readonly ms: number;
  /** CPU time, if it is known. */
  readonly cpuMs?: number | undefined;
}

export function renderSlowest(timings: readonly Timing[], count = 10): string {
  const slowest = timings.toSorted((one, other) => other.ms - one.ms).slice(0, count);
  const lines = slowest.map(({ name, ms, cpuMs }) => `${seconds(ms)}  ${name}${renderCpu(cpuMs)}`);
  return ['the slowest files and phases:', ...lines].join('\n');
}

/** Empty if the time is not known. */
export function renderCpu(cpuMs: number | undefined): string {
  return cpuMs === undefined ? '' : ` (CPU ${seconds(cpuMs).trim()})`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(6)} s`;
}

export function renderCounts(all: readonly Counts[]): string {
  const sum = (name: keyof Counts): number => all.reduce((total, counts) => total + counts[name], 0);
  const lines = { tests: 'tests', passed: 'pass', failed: 'fail', cancelled: 'cancelled', skipped: 'skipped' } as const;
  return Object.entries(lines)
    .map(([name, word]) => `ℹ ${word} ${String(sum(name as keyof Counts))}`)
    .join('\n');
}

/** Which tests of a file failed and why, each error cut to a few lines. */
export function renderFailures({ path, failures }: FileResult): string {
  const lines = failures.map(({ test, error }) => {
    const [first = '', ...rest] = error.split('\n').filter((line) => line.trim() !== '');
    return [`✖ ${path}: ${test}: ${first}`, ...rest.slice(0, mostErrorLines).map((line) => `    ${line}`)].join('\n');
  });
  return lines.join('\n');
}

/** The output of one test process without its own counts, which are added up over all of them. */
export function withoutCounts(output: string): string {
  return output.replaceAll(/^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) .*\n/gm, '');
}
