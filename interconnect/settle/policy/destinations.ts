/** Sets of clusters of which not all members are known: some by name, or all except some. */

export interface Destinations {
  /** Whether `names` are those left out, instead of those in it. */
  readonly isRest: boolean;
  readonly names: ReadonlySet<string>;
}

/** Clusters that nothing has been decided for yet. Mutable; a decision costs its own names. */
export class Undecided {
  readonly #decided = new Set<string>();

  /** The named clusters that were undecided; undefined if there are none. */
  take(named: ReadonlySet<string>): Destinations | undefined {
    const names = new Set<string>();
    for (const name of named) {
      if (this.#decided.has(name)) continue;
      this.#decided.add(name);
      names.add(name);
    }
    return names.size === 0 ? undefined : { isRest: false, names };
  }

  rest(): Destinations {
    return { isRest: true, names: this.#decided };
  }
}

/** A union that grows. Mutable. */
export class Recipients {
  readonly #named = new Set<string>();
  #leftOut: ReadonlySet<string> | undefined;

  add({ isRest, names }: Destinations): void {
    if (isRest) this.#leftOut = this.#leftOut?.intersection(names) ?? names;
    else for (const name of names) this.#named.add(name);
  }

  /** As the messages have it: `only` is empty for all, but those of `except`. */
  lists(): { readonly only: readonly string[]; readonly except: readonly string[] } {
    if (this.#leftOut === undefined) return { only: [...this.#named].sort(), except: [] };
    return { only: [], except: [...this.#leftOut].filter((name) => !this.#named.has(name)).sort() };
  }
}
