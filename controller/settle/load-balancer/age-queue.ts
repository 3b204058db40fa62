import { byAge } from '../../../lib/desired/rights.ts';

export interface Waiter {
  /** `namespace/name`. */
  readonly name: string;
  readonly createdMs: number;
}

/** Objects that wait, the oldest first. Each change is a binary search and one splice. */
export class AgeQueue {
  readonly #waiters: Waiter[] = [];
  readonly #known = new Map<string, Waiter>();

  has(name: string): boolean {
    return this.#known.has(name);
  }

  add({ name, createdMs }: Waiter): void {
    const known = this.#known.get(name);
    if (known?.createdMs === createdMs) return;
    if (known !== undefined) this.delete(name);
    const waiter = { name, createdMs };
    this.#known.set(name, waiter);
    this.#waiters.splice(this.#seek(waiter), 0, waiter);
  }

  delete(name: string): void {
    const waiter = this.#known.get(name);
    if (waiter === undefined) return;
    this.#known.delete(name);
    this.#waiters.splice(this.#seek(waiter), 1);
  }

  /** A copy: the queue may change meanwhile. */
  names(): readonly string[] {
    return this.#waiters.map(({ name }) => name);
  }

  #seek(waiter: Waiter): number {
    let [low, high] = [0, this.#waiters.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#waiters[middle];
      if (other !== undefined && byAge(other, waiter) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
