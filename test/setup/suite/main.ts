/**
 * Runs the suite or a part of it, several jobs at once.   main.ts all|without-check|unit|system [FILE…]   FILE: only these system tests
 * Called by run-tests.sh, which removes the lab, and by npm. AT_ONCE: number of concurrent jobs; by default the number of cores plus one, and
 * more while a part of the machine is idle.
 *
 * Tests depend on the timing of real servers and of a machine that may stall: if one or two files of the unit tests or of the system
 * tests fail, they run once more at the end, alone. The last lines name files that passed only then, for investigation.
 */
import type { ChildProcess } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { poolVariable, servePool } from '../../../lib/kube/testing-pool.ts';
import { checkJobs, type Job, nextJob, sharedLab, systemJobs, type TestFile, unitJobs } from './jobs.ts';
import { perform } from './perform.ts';
import type { Counts, FileResult } from './results.ts';
import { atOnceFor, IdleTime } from './spare.ts';
import {
  renderCounts,
  renderCpu,
  renderFailures,
  renderSlowest,
  seconds,
  type Timing,
  withoutCounts,
} from './table.ts';

const unitTests = [
  'lib/**/*.test.ts',
  '{central,controller,daemon,interconnect,speaker,cli}/**/*.test.ts',
  'test/!(cluster|system)/**/*.test.ts',
];
const systemTests = 'test/system/**/*.test.ts';
/** More failed files than this have a cause other than timing. */
const mostOnceMore = 2;
/** Between two choices of the number of concurrent jobs: longer than a job needs to begin with its work. */
const lookMs = 10_000;

class Suite {
  readonly #dir = mkdtempSync(join(tmpdir(), 'isthmus-suite-'));
  readonly #startedMs = performance.now();
  readonly #idle = new IdleTime();
  readonly #children = new Set<ChildProcess>();
  readonly #timings: Timing[] = [];
  readonly #counts: Counts[] = [];
  readonly #failures: string[] = [];
  /** Test files that failed, of each tier, with their jobs. */
  readonly #failed = { unit: new Map<string, Job>(), system: new Map<string, Job>() };
  /** Other failed jobs. */
  readonly #broken: string[] = [];
  #performed = 0;
  #isStopped = false;

  /** @param atOnce the number of concurrent jobs. @param isFixed or the least number of them. @returns whether all passed */
  async run(jobs: readonly Job[], atOnce: number, isFixed: boolean): Promise<boolean> {
    const waiting = [...jobs];
    const passed = new Set<string>();
    const running = new Map<Job, Promise<void>>();
    const finish = async (job: Job): Promise<void> => {
      const isPassed = await this.#perform(job);
      running.delete(job);
      if (isPassed) passed.add(job.name);
    };
    const idle = new IdleTime();
    let [most, lookedMs] = [atOnce, performance.now()];
    for (;;) {
      const next = this.#isStopped ? undefined : nextJob(waiting, [...running.keys()], passed, most);
      if (next !== undefined) {
        waiting.splice(waiting.indexOf(next), 1);
        running.set(next, finish(next));
        continue;
      }
      if (running.size === 0) break;
      await Promise.race([
        ...running.values(),
        sleep(lookedMs + lookMs - performance.now(), undefined, { ref: false }),
      ]);
      if (performance.now() < lookedMs + lookMs) continue;
      lookedMs = performance.now();
      if (!isFixed) most = atOnceFor(idle.look(), most, atOnce);
    }
    const notRun = waiting.filter(({ files }) => files.length > 0);
    if (notRun.length > 0)
      this.#broken.push(`${String(notRun.length)} jobs did not run, the first ${notRun[0]?.name ?? ''}`);
    const passedLate = this.#isStopped ? [] : await this.#onceMore();
    rmSync(this.#dir, { recursive: true });
    return this.#conclude(passedLate);
  }

  /** Starts no more jobs, and ends those that run. */
  stop(): void {
    this.#isStopped = true;
    for (const child of this.#children) child.kill('SIGTERM');
  }

  async #perform(job: Job): Promise<boolean> {
    const { child, ended } = perform(job, join(this.#dir, String(this.#performed++)));
    this.#children.add(child);
    const { isPassed, ms, cpuMs, output, results } = await ended;
    this.#children.delete(child);
    const verdict = isPassed ? 'passed' : this.#isStopped ? 'was stopped' : 'failed';
    const atMs = performance.now() - this.#startedMs;
    console.log(`${seconds(atMs)}  ${job.name}: ${verdict} after ${seconds(ms).trim()}${renderCpu(cpuMs)}`);
    process.stdout.write(withoutCounts(output));
    this.#timings.push({ name: job.name, ms, cpuMs });
    if (results !== undefined) {
      this.#counts.push(results.counts);
      this.#failures.push(...results.files.map(renderFailures).filter((text) => text !== ''));
      if (job.files.length > 1) this.#timings.push(...results.files.map((file) => ({ name: file.path, ms: file.ms })));
    }
    if (verdict === 'failed') this.#note(job, results?.files ?? []);
    return isPassed;
  }

  #note(job: Job, results: readonly FileResult[]): void {
    const { name, tier, files } = job;
    if (tier === 'unit' || tier === 'system') {
      const failed = results.filter(({ hasFailed }) => hasFailed).map(({ path }) => path);
      // Without results any of its files may have failed.
      for (const file of failed.length > 0 ? failed : files) this.#failed[tier].set(file, job);
    } else this.#broken.push(name);
    if (tier === 'check' || this.#failed.unit.size > mostOnceMore) this.stop();
  }

  /** @returns the files that passed now */
  async #onceMore(): Promise<string[]> {
    const passed: string[] = [];
    for (const tier of ['unit', 'system'] as const) {
      const failed = [...this.#failed[tier]];
      if (failed.length > mostOnceMore) continue;
      this.#failed[tier].clear();
      for (const [file, job] of failed)
        if (await this.#perform({ ...job, name: `once more: ${file}`, files: [file] })) passed.push(file);
    }
    return passed;
  }

  #conclude(passedLate: readonly string[]): boolean {
    const failures = [...this.#broken, ...this.#failed.unit.keys(), ...this.#failed.system.keys()];
    const idle = `${String(Math.round(100 * this.#idle.look()))} % of the CPU time of this machine was idle`;
    console.log(`\n${renderSlowest(this.#timings)}\n${idle}\n\n${renderCounts(this.#counts)}`);
    for (const text of this.#failures) console.log(text);
    for (const file of passedLate) console.log(`failed once and passed when run again: ${file}`);
    for (const failure of failures) console.log(`failed: ${failure}`);
    return failures.length === 0;
  }
}

/** @param only the system tests to run, all of them if it is empty */
function jobsOf(part: string, only: readonly string[]): Job[] | undefined {
  const unit = (): Job[] => unitJobs(globSync(unitTests).sort());
  const system = (): Job[] => systemJobs((only.length > 0 ? only : globSync(systemTests)).map(testFile));
  switch (part) {
    case 'all':
      return inOrder([...checkJobs(), ...unit()], system());
    case 'without-check':
      return inOrder(unit(), system());
    case 'system':
      return system();
    case 'unit':
      return unit();
    default:
      return undefined;
  }
}

/** The lab starts and is used first: while it waits, its servers cost two fifths of a core. */
function inOrder(others: readonly Job[], system: readonly Job[]): Job[] {
  const isInLab = ({ uses }: Job): boolean => uses === sharedLab;
  return [...system.filter(isInLab), ...others, ...system.filter((job) => !isInLab(job))];
}

function testFile(path: string): TestFile {
  const text = readFileSync(path, 'utf8');
  return { path, size: text.length, isInLab: text.includes('openLab()') };
}

/** API servers for the files that want one: each takes three seconds to start. */
async function openPool(): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-pool-'));
  const path = join(dir, 'socket');
  // One is taken every ten seconds or so, and one that waits costs a fiftieth of a core.
  const close = await servePool(path, 1);
  process.env[poolVariable] = path;
  return async () => {
    await close();
    rmSync(dir, { recursive: true });
  };
}

process.chdir(join(import.meta.dirname, '../../..'));
const [part = '', ...only] = process.argv.slice(2);
const jobs = jobsOf(part, only);
if (jobs === undefined) {
  console.error('usage: main.ts all|without-check|unit|system [FILE…]');
  process.exit(2);
}
const suite = new Suite();
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    suite.stop();
    process.exitCode = 128 + constants.signals[signal];
  });
const closePool = jobs.some(({ tier }) => tier === 'system') ? await openPool() : undefined;
const asked = process.env['AT_ONCE'];
const isPassed = await suite.run(jobs, Number(asked ?? availableParallelism() + 1), asked !== undefined);
await closePool?.();
process.exitCode ??= isPassed ? 0 : 1;
