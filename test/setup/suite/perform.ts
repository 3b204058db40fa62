/** Runs one job to its end. Its output is shown when it has ended, in one piece, as other jobs run beside it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from './jobs.ts';
import type { Results } from './results.ts';

const reporter = join(import.meta.dirname, 'results.ts');

export interface Outcome {
  readonly isPassed: boolean;
  readonly ms: number;
  readonly output: string;
  /** Of jobs that run test files and have come to their end. */
  readonly results: Results | undefined;
}

export interface Performance {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
}

/** @param place the path of files for its output and its results, which get suffixes */
export function perform(job: Job, place: string): Performance {
  const [log, report] = [`${place}.log`, `${place}.json`];
  const [program = '', ...argv] = job.argv ?? testCommand(job, report);
  const startedMs = performance.now();
  const output = openSync(log, 'w');
  const child = spawn(program, argv, { stdio: ['ignore', output, output] });
  closeSync(output);
  const ended = once(child, 'close').then(([code]: unknown[]) => ({
    isPassed: code === 0,
    ms: performance.now() - startedMs,
    output: readFileSync(log, 'utf8'),
    results: existsSync(report) ? resultsIn(readFileSync(report, 'utf8')) : undefined,
  }));
  return { child, ended };
}

function testCommand({ files, tier }: Job, report: string): string[] {
  // Unit tests load the project once for all files; system tests have a process for each.
  const isolation = tier === 'unit' ? ['--test-isolation=none'] : [];
  const reporters = ['spec', 'stdout', reporter, report].map(
    (word, index) => `--test-reporter${index % 2 === 0 ? '' : '-destination'}=${word}`,
  );
  return ['node', '--test', ...isolation, '--test-concurrency=1', ...reporters, ...files];
}

function resultsIn(text: string): Results | undefined {
  return text === '' ? undefined : (JSON.parse(text) as Results);
}
