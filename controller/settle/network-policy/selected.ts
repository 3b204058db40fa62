/** How many pods each policy selects, to say which select none. Counted in one pass when the first number is asked for, and kept from then on. */
export class SelectedCounts {
  #counts: Map<string, number> | undefined;
  /** Policies whose last pod went a short while ago: pods of a CronJob, or of a workload that starts again, come back. */
  readonly #left = new Set<string>();
  readonly #onFlip: (policy: string) => void;

  /** @param onFlip a policy that selected pods selects none any more, or the other way around */
  constructor(onFlip: (policy: string) => void) {
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
    if (before > 0 === count > 0) return;
    if (count > 0) this.#left.delete(policy);
    else this.#left.add(policy);
    this.#onFlip(policy);
  }

  hasLeft(policy: string): boolean {
    return this.#left.has(policy);
  }

  remember(policy: string): void {
    this.#left.add(policy);
  }

  /** Whether it was remembered. */
  forget(policy: string): boolean {
    return this.#left.delete(policy);
  }
}
