/** A reporter of the test runner: one line of JSON at the end, with counts, and for each file how long its tests took and which of them failed. */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

export interface Results {
  readonly counts: Counts;
  readonly files: readonly FileResult[];
}

/** As the test runner's own summary names them. */
export interface Counts {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
}

export interface FileResult {
  readonly path: string;
  readonly ms: number;
  readonly hasFailed: boolean;
  /** The tests that failed themselves, not by one of their subtests. */
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly test: string;
  /** The messages of the error and of its causes. */
  readonly error: string;
}

interface FileState {
  ms: number;
  hasFailed: boolean;
  failures: Failure[];
}

// oxlint-disable-next-line import/no-default-export -- as the runner wants it.
export default async function* results(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Map<string, FileState>();
  let counts: Counts = { tests: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0 };
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file === undefined) {
      const { tests, passed, cancelled, skipped, todo } = data.counts;
      counts = { tests, passed, failed: tests - passed - cancelled - skipped - todo, cancelled, skipped };
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    // A file that ends before its tests do has no file, only its name.
    const path = relative(process.cwd(), data.file ?? data.name);
    const file = files.get(path) ?? { ms: 0, hasFailed: false, failures: [] };
    files.set(path, file);
    if (data.nesting === 0) file.ms += data.details.duration_ms;
    if (type !== 'test:fail') continue;
    file.hasFailed = true;
    const error = data.details.error as Error & { readonly failureType?: string };
    if (error.failureType !== 'subtestsFailed') file.failures.push({ test: data.name, error: messagesOf(error) });
  }
  const line: Results = { counts, files: [...files].map(([path, result]) => ({ path, ...result })) };
  yield `${JSON.stringify(line)}\n`;
}

/** The runner wraps the error of a test in one of its own with the same message. */
function messagesOf(error: Error): string {
  const messages = new Set<string>();
  for (let cause: unknown = error; cause instanceof Error; { cause } = cause) messages.add(cause.message);
  return [...messages].join(': ');
}
