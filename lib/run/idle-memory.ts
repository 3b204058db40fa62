/**
 * Releases memory when a process becomes idle. V8 collects only when the heap has grown, so the garbage of a burst
 * stays until the next burst. In: a call for each piece of work. Out: one full collection in the idle time after it, if
 * the heap has grown. The collection blocks the idle process for some tenths of a second. The C library keeps the memory
 * that V8 frees, some 10 MB after a start alone: `trim` releases it, too.
 * Needs Node's `--expose-gc`; without it nothing is collected.
 */
import { getHeapStatistics } from 'node:v8';

/** Idle time before a collection, after which no request is expected to be waiting. */
const quietMs = 1000;
/** Growth of the heap below which there is no collection: idle and busy seconds may alternate for ever. */
const growth = 1.1;

export interface IdleMemoryOptions {
  /** Collects all garbage at once; by default the function of `--expose-gc`. */
  readonly collect?: (() => void) | undefined;
  /** Size of the heap in memory, in bytes. */
  readonly heapBytes?: () => number;
  /** Releases unused memory of the C library; called in each idle time, so it must be cheap. */
  readonly trim?: () => void;
}

function collectAll(): (() => void) | undefined {
  const { gc } = globalThis;
  return gc && (() => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }));
}

export class IdleMemory {
  readonly #collect: (() => void) | undefined;
  readonly #heapBytes: () => number;
  readonly #trim: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #workedMs = 0;
  #bytesAfter = 0;

  constructor(options: IdleMemoryOptions = {}) {
    this.#collect = options.collect ?? collectAll();
    this.#heapBytes = options.heapBytes ?? (() => getHeapStatistics().total_heap_size);
    this.#trim = options.trim;
  }

  /** Records work. Cheap: may be called for each event. */
  worked(): void {
    this.#workedMs = performance.now();
    this.#timer ??= this.#lookIn(quietMs);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    const leftMs = quietMs - (performance.now() - this.#workedMs);
    this.#timer = leftMs > 1 ? this.#lookIn(leftMs) : undefined;
    if (leftMs > 1) return;
    if (this.#heapBytes() >= this.#bytesAfter * growth) {
      this.#collect?.();
      this.#bytesAfter = this.#heapBytes();
    }
    this.#trim?.();
  }
}
