/** How often each key has each member. */
export class Counts {
  readonly #counts = new Map<string, Map<string, number>>();

  /** Whether the set of members of the key changed. */
  add(key: string, member: string, step: 1 | -1): boolean {
    const members = this.#counts.get(key) ?? new Map<string, number>();
    const before = members.get(member) ?? 0;
    const now = before + step;
    if (now > 0) members.set(member, now);
    else members.delete(member);
    if (members.size > 0) this.#counts.set(key, members);
    else this.#counts.delete(key);
    return now > 0 !== before > 0;
  }

  keys(): Iterable<string> {
    return this.#counts.keys();
  }

  /** Sorted. */
  of(key: string): readonly string[] {
    const members = this.#counts.get(key);
    return members === undefined ? none : [...members.keys()].sort();
  }

  size(key: string): number {
    return this.#counts.get(key)?.size ?? 0;
  }

  has(key: string, member: string): boolean {
    return this.#counts.get(key)?.has(member) ?? false;
  }
}

const none: readonly string[] = [];
