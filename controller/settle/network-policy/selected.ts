/** How many pods each policy selects, to say which select none. Counted in one pass when the first number is asked for, and kept from then on. */
export class SelectedCounts {
  #counts: Map<string, number> | undefined;
  readonly #onFlip: (policy: string, isSelecting: boolean) => void;

  /** @param onFlip a policy that selected pods selects none any more, or the other way around */
  constructor(onFlip: (policy: string, isSelecting: boolean) => void) {
    this.#onFlip = onFlip;
  }

  /** @param pods the policies that select each pod, for the first pass */
  has(policy: string, pods: () => Iterable<Iterable<string>>): boolean {
    if (this.#counts === undefined) {
      this.#counts = new Map();
      for (const policies of pods())
        for (const one of policies) this.#counts.set(one, (this.#counts.get(one) ?? 0) + 1);
    }
    return (this.#counts.get(policy) ?? 0) > 0;
  }

  /** Whether numbers are kept: the policies of a pod need not be looked up before. */
  get isKept(): boolean {
    return this.#counts !== undefined;
  }

  /** Counts a pod that policies began to select, or no longer select. */
  add(policies: Iterable<string>, step: 1 | -1): void {
    for (const policy of policies) this.change(policy, step);
  }

  /** Counts this many pods more, or fewer. */
  change(policy: string, by: number): void {
    this.set(policy, (this.#counts?.get(policy) ?? 0) + by);
  }

  set(policy: string, count: number): void {
    if (this.#counts === undefined) return;
    const before = this.#counts.get(policy) ?? 0;
    if (count > 0) this.#counts.set(policy, count);
    else this.#counts.delete(policy);
    if (before > 0 !== count > 0) this.#onFlip(policy, count > 0);
  }
}
