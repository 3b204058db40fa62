/** Which Service has an address and port that several ask for, such as a NodePort or an external IP. Pure. */
import { byRight, type Claimant } from '../../lib/services/claims.ts';

/** An address, or an address with protocol and port, that a Service asks for. */
export interface Right {
  readonly key: string;
  readonly isClusterIp: boolean;
}

export class FrontendRights {
  readonly #wanted = new Map<string, readonly string[]>();
  readonly #claimants = new Map<string, readonly Claimant[]>();

  /** Sets what a Service asks for. Returns the Services that gained or lost a right, without this one. */
  set(service: string, createdMs: number, rights: readonly Right[]): ReadonlySet<string> {
    const concerned = new Set<string>();
    const change = (key: string, right: Right | undefined): void => {
      const before = this.#claimants.get(key) ?? [];
      const others = before.filter((claimant) => claimant.service !== service);
      const own = right && { service, createdMs, isClusterIp: right.isClusterIp };
      const after = own === undefined ? others : [...others, own].sort(byRight);
      if (after.length === 0) this.#claimants.delete(key);
      else this.#claimants.set(key, after);
      if (before[0]?.service === after[0]?.service) return;
      for (const holder of [before[0], after[0]]) if (holder !== undefined) concerned.add(holder.service);
    };
    const now = new Map(rights.map((right) => [right.key, right]));
    for (const key of this.#wanted.get(service) ?? []) if (!now.has(key)) change(key, undefined);
    for (const [key, right] of now) change(key, right);
    if (now.size === 0) this.#wanted.delete(service);
    else this.#wanted.set(service, [...now.keys()]);
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
