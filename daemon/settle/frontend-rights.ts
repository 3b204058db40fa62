/**
 * Which Service has an address and port that several ask for, such as a NodePort or an external IP: the oldest one, and of Services of the same
 * age the first by name. Pure.
 */

interface Claimant {
  readonly service: string;
  readonly createdMs: number;
}

export class FrontendRights {
  readonly #wanted = new Map<string, readonly string[]>();
  readonly #claimants = new Map<string, readonly Claimant[]>();

  /** Sets what a Service asks for. Returns the Services that gained or lost a right, without this one. */
  set(service: string, createdMs: number, keys: readonly string[]): ReadonlySet<string> {
    const concerned = new Set<string>();
    const change = (key: string, isWanted: boolean): void => {
      const before = this.#claimants.get(key) ?? [];
      const others = before.filter((claimant) => claimant.service !== service);
      const after = isWanted ? [...others, { service, createdMs }].sort(byRight) : others;
      if (after.length === 0) this.#claimants.delete(key);
      else this.#claimants.set(key, after);
      if (before[0]?.service === after[0]?.service) return;
      for (const holder of [before[0], after[0]]) if (holder !== undefined) concerned.add(holder.service);
    };
    const now = new Set(keys);
    for (const key of this.#wanted.get(service) ?? []) if (!now.has(key)) change(key, false);
    for (const key of now) change(key, true);
    if (keys.length === 0) this.#wanted.delete(service);
    else this.#wanted.set(service, keys);
    concerned.delete(service);
    return concerned;
  }

  holderOf(key: string): string | undefined {
    return this.#claimants.get(key)?.[0]?.service;
  }

  /** Keys that the Service requests and another one has, with that Service. */
  deniedTo(service: string): readonly { readonly key: string; readonly holder: string }[] {
    return (this.#wanted.get(service) ?? []).flatMap((key) => {
      const holder = this.holderOf(key);
      return holder === undefined || holder === service ? [] : [{ key, holder }];
    });
  }
}

function byRight(a: Claimant, b: Claimant): number {
  return a.createdMs - b.createdMs || (a.service < b.service ? -1 : 1);
}
