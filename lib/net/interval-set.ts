import { formatIp } from './ip.ts';
import type { Family } from './ip.ts';

interface Interval {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * A set of integers kept as sorted, disjoint, non-adjacent intervals: a /64 costs as much as a /30.
 * Mutable; every operation is a binary search and one splice.
 */
export class IntervalSet {
  #intervals: Interval[] = [];
  #count = 0n;

  static of(first: bigint, last: bigint): IntervalSet {
    const set = new IntervalSet();
    set.add(first, last);
    return set;
  }

  copy(): IntervalSet {
    const set = new IntervalSet();
    set.#intervals = [...this.#intervals];
    set.#count = this.#count;
    return set;
  }

  /** How many integers are in it. */
  get count(): bigint {
    return this.#count;
  }

  /** The smallest member. */
  get lowest(): bigint | undefined {
    return this.#intervals[0]?.first;
  }

  intervals(): readonly Interval[] {
    return this.#intervals;
  }

  /** Index of the first interval that ends at or after `value`. */
  #seek(value: bigint): number {
    let low = 0;
    let high = this.#intervals.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#intervals[middle]?.last ?? value) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(value: bigint): boolean {
    const interval = this.#intervals[this.#seek(value)];
    return interval !== undefined && interval.first <= value;
  }

  /** Adds `first` to `last`, both included; an empty interval (`first > last`) adds nothing. */
  add(first: bigint, last: bigint = first): void {
    if (first > last) return;
    // One below, so that a neighbour that only touches is joined.
    const from = this.#seek(first - 1n);
    let to = from;
    let joined: Interval = { first, last };
    for (let next = this.#intervals[to]; next !== undefined && next.first <= last + 1n; next = this.#intervals[to]) {
      joined = {
        first: next.first < joined.first ? next.first : joined.first,
        last: next.last > joined.last ? next.last : joined.last,
      };
      this.#count -= next.last - next.first + 1n;
      to += 1;
    }
    this.#count += joined.last - joined.first + 1n;
    this.#intervals.splice(from, to - from, joined);
  }

  /** Takes out `first` to `last`, both included. */
  remove(first: bigint, last: bigint = first): void {
    if (first > last) return;
    const from = this.#seek(first);
    let to = from;
    const kept: Interval[] = [];
    for (let next = this.#intervals[to]; next !== undefined && next.first <= last; next = this.#intervals[to]) {
      this.#count -= next.last - next.first + 1n;
      if (next.first < first) kept.push({ first: next.first, last: first - 1n });
      if (next.last > last) kept.push({ first: last + 1n, last: next.last });
      to += 1;
    }
    for (const part of kept) this.#count += part.last - part.first + 1n;
    this.#intervals.splice(from, to - from, ...kept);
  }

  /** Addresses as `a-b,c`. */
  format(family: Family): string {
    const text = (value: bigint): string => formatIp({ family, value });
    return this.#intervals
      .map(({ first, last }) => (first === last ? text(first) : `${text(first)}-${text(last)}`))
      .join(',');
  }
}
