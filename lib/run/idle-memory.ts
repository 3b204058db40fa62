/**
 * Gives memory back once a process has nothing to do. V8 collects when the heap has grown, so that what a burst left
 * behind stays with the process until the next one. In: word of each piece of work. Out: one full collection in the
 * silence after it, where the heap has grown; it blocks for some tenths of a second in which nobody waits. What V8 frees the C
 * library keeps for itself, some 10 MB after a start alone: on demand that is given back, too.
 * Needs Node's `--expose-gc`; without it nothing is collected.
 */
import { getHeapStatistics } from 'node:v8';

/** Silence after which nobody is thought to wait. */
const quietMs = 1000;
/** A heap that grew by less is left alone: quiet and busy seconds may take turns for ever. */
const growth = 1.1;

export interface IdleMemoryOptions {
  /** Collects all garbage at once; by default what `--expose-gc` gives. */
  readonly collect?: (() => void) | undefined;
  /** Bytes the heap takes of the machine's memory. */
  readonly heapBytes?: () => number;
  /** Gives back what the C library holds without using it; called in each silence, so it must be cheap. */
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

  /** Something was done. Cheap: may be called for each event. */
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
