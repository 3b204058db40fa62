/** Runs one job to completion. Its output is printed in one piece when it has ended, because other jobs run concurrently. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Container } from './container.ts';
import type { Job } from './jobs.ts';
import type { Results } from './results.ts';
import { seconds } from './table.ts';

const reporter = join(import.meta.dirname, 'results.ts');
/** Many times the duration of the slowest job. A test file that never ends would block the run forever. */
const mostMs = 15 * 60_000;
/** The limit of a file and of each of its tests. The runner then still reports which test it was, and which failed before. */
const mostOfTestMs = 10 * 60_000;
/** Between the request to end and SIGKILL. */
const graceMs = 10_000;

export interface Outcome {
  readonly isPassed: boolean;
  readonly ms: number;
  /** CPU time, if it is known. */
  readonly cpuMs: number | undefined;
  readonly output: string;
  /** Of jobs that run test files and have come to their end. */
  readonly results: Results | undefined;
}

export interface Performance {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
}

/**
 * @param place the path of files for its output and its results, which get suffixes
 * @param limitMs a job that runs for longer is ended, and has failed
 */
export function perform(job: Job, place: string, limitMs = mostMs): Performance {
  const [log, report] = [`${place}.log`, `${place}.json`];
  const command = job.argv ?? testCommand(job, report);
  const container = job.isContained === true ? new Container() : undefined;
  const [program = '', ...argv] = container?.commandOf(command) ?? command;
  const startedMs = performance.now();
  const output = openSync(log, 'w');
  const child = spawn(program, argv, { stdio: ['ignore', output, output] });
  closeSync(output);
  let note = '';
  let isLate = false;
  let kill: NodeJS.Timeout | undefined;
  const limit = setTimeout(() => {
    isLate = true;
    note = `${job.name} did not end within ${seconds(limitMs).trim()} and was ended\n`;
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), graceMs);
  }, limitMs);
  const ended = once(child, 'close').then(async ([code]: unknown[]) => {
    clearTimeout(limit);
    clearTimeout(kill);
    const cpuMs = container?.cpuMs();
    const left = (await container?.end()) ?? [];
    if (left.length > 0) note += `${job.name} left processes, which were ended: ${left.join(', ')}\n`;
    return {
      isPassed: code === 0 && !isLate,
      ms: performance.now() - startedMs,
      cpuMs,
      output: readFileSync(log, 'utf8') + note,
      results: existsSync(report) ? resultsIn(readFileSync(report, 'utf8')) : undefined,
    };
  });
  return { child, ended };
}

function testCommand({ files, tier }: Job, report: string): string[] {
  // Unit tests load the project once for all files; system tests have a process for each.
  const isolation = tier === 'unit' ? ['--test-isolation=none'] : [];
  const reporters = ['spec', 'stdout', reporter, report].map(
    (word, index) => `--test-reporter${index % 2 === 0 ? '' : '-destination'}=${word}`,
  );
  // A handle that a test left open, or a server that a failed hook did not stop, must not keep the process until its time limit: what tests
  // start ends with the container.
  const limits = ['--test-force-exit', '--test-concurrency=1', `--test-timeout=${String(mostOfTestMs)}`];
  return ['node', '--test', ...isolation, ...limits, ...reporters, ...files];
}

function resultsIn(text: string): Results | undefined {
  return text === '' ? undefined : (JSON.parse(text) as Results);
}
