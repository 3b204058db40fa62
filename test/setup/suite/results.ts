/** A reporter of the test runner: one line of JSON at the end, with counts, and for each file how long its tests took and whether one failed. */
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
}

// oxlint-disable-next-line import/no-default-export -- as the runner wants it.
export default async function* results(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Map<string, { ms: number; hasFailed: boolean }>();
  let counts: Counts = { tests: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0 };
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file === undefined) {
      const { tests, passed, cancelled, skipped, todo } = data.counts;
      counts = { tests, passed, failed: tests - passed - cancelled - skipped - todo, cancelled, skipped };
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    // A file that ends before its tests do has no file, only its name.
    const path = relative(process.cwd(), data.file ?? data.name);
    const { ms, hasFailed } = files.get(path) ?? { ms: 0, hasFailed: false };
    files.set(path, {
      ms: ms + (data.nesting === 0 ? data.details.duration_ms : 0),
      hasFailed: hasFailed || type === 'test:fail',
    });
  }
  const line: Results = { counts, files: [...files].map(([path, result]) => ({ path, ...result })) };
  yield `${JSON.stringify(line)}\n`;
}
