import { IntervalSet } from '../../lib/net/interval-set.ts';

/** Addresses that may be given: those never used first, lowest first; those that came back once no other is left. */
export class FreeSet {
  #fresh: IntervalSet;
  #released: IntervalSet;

  constructor(fresh: IntervalSet, released = new IntervalSet()) {
    this.#fresh = fresh;
    this.#released = released;
  }

  get count(): bigint {
    return this.#fresh.count + this.#released.count;
  }

  get released(): IntervalSet {
    return this.#released;
  }

  /** Everything in it, as one set. */
  all(): IntervalSet {
    const set = this.#fresh.copy();
    for (const { first, last } of this.#released.intervals()) set.add(first, last);
    return set;
  }

  /** The address that is due; undefined when there is none. */
  next(): bigint | undefined {
    if (this.#fresh.lowest === undefined) {
      this.#fresh = this.#released;
      this.#released = new IntervalSet();
    }
    return this.#fresh.lowest;
  }

  remove(value: bigint): void {
    this.#fresh.remove(value);
    this.#released.remove(value);
  }

  putBack(value: bigint): void {
    this.#released.add(value);
  }
}
