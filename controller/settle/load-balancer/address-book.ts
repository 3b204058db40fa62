/**
 * The addresses of LoadBalancerPools and the Services that have them. In: the ranges of the pools, and each Service that takes or releases
 * an address. Out: free addresses, holders and counts. No decisions here. An address outside of all pools may have holders too.
 */
import { IntervalSet } from '../../../lib/net/interval-set.ts';
import { formatIp, type Family, type Ip } from '../../../lib/net/ip.ts';
import type { LoadBalancerPoolVerdict, LoadBalancerUsage } from '../../model/settled.ts';

interface Space {
  readonly all: Readonly<Record<Family, IntervalSet>>;
  /** Of these, the addresses that no Service has and that are not withheld. */
  readonly free: Readonly<Record<Family, IntervalSet>>;
  readonly withheld: LoadBalancerPoolVerdict['withheld'];
  /** Addresses that Services have. */
  used: bigint;
}

const families = [4, 6] as const;
const none: ReadonlySet<string> = new Set();

export class AddressBook {
  readonly #spaces = new Map<string, Space>();
  readonly #holders = new Map<string, { readonly ip: Ip; readonly keys: Set<string> }>();

  /** Sets the pools in force. Addresses keep their holders. */
  define(verdicts: ReadonlyMap<string, LoadBalancerPoolVerdict>): void {
    this.#spaces.clear();
    for (const [name, { ranges, withheld }] of verdicts) {
      if (ranges.length === 0) continue;
      const all = { 4: new IntervalSet(), 6: new IntervalSet() };
      for (const { family, first, last } of ranges) all[family].add(first, last);
      const free = { 4: all[4].copy(), 6: all[6].copy() };
      for (const { range } of withheld) free[range.family].remove(range.first, range.last);
      this.#spaces.set(name, { all, free, withheld, used: 0n });
    }
    for (const { ip } of this.#holders.values()) this.#taken(ip);
  }

  /** The pool in force that the address is in. */
  poolOf({ family, value }: Ip): string | undefined {
    for (const [name, { all }] of this.#spaces) if (all[family].has(value)) return name;
    return undefined;
  }

  hasFamily(pool: string, family: Family): boolean {
    return (this.#spaces.get(pool)?.all[family].count ?? 0n) > 0n;
  }

  lowestFree(pool: string, family: Family): Ip | undefined {
    const value = this.#spaces.get(pool)?.free[family].lowest;
    return value === undefined ? undefined : { family, value };
  }

  /** The object other than a Service that has the address of a pool, so that no Service may get it. */
  ownerOf({ family, value }: Ip): string | undefined {
    const isIn = ({ range }: Space['withheld'][number]): boolean =>
      range.family === family && range.first <= value && value <= range.last;
    for (const { withheld } of this.#spaces.values()) {
      const found = withheld.find(isIn);
      if (found !== undefined) return found.owner;
    }
    return undefined;
  }

  holdersOf(ip: Ip): ReadonlySet<string> {
    return this.#holders.get(formatIp(ip))?.keys ?? none;
  }

  /** The names of the pools whose counts differ now. */
  hold(ip: Ip, key: string): readonly string[] {
    const text = formatIp(ip);
    const there = this.#holders.get(text);
    if (there !== undefined) {
      there.keys.add(key);
      return [];
    }
    this.#holders.set(text, { ip, keys: new Set([key]) });
    return this.#taken(ip);
  }

  /** The names of the pools whose counts differ now. */
  release(ip: Ip, key: string): readonly string[] {
    const text = formatIp(ip);
    const there = this.#holders.get(text);
    there?.keys.delete(key);
    if (there === undefined || there.keys.size > 0) return [];
    this.#holders.delete(text);
    const pool = this.poolOf(ip);
    const space = pool === undefined ? undefined : this.#spaces.get(pool);
    if (pool === undefined || space === undefined) return [];
    space.used -= 1n;
    if (this.ownerOf(ip) === undefined) space.free[ip.family].add(ip.value);
    return [pool];
  }

  usage(pool: string): LoadBalancerUsage {
    const space = this.#spaces.get(pool);
    const count = (sets: Space['all'] | undefined): bigint =>
      families.reduce((sum, family) => sum + (sets?.[family].count ?? 0n), 0n);
    return { total: count(space?.all), available: count(space?.free), used: space?.used ?? 0n };
  }

  #taken(ip: Ip): readonly string[] {
    const pool = this.poolOf(ip);
    const space = pool === undefined ? undefined : this.#spaces.get(pool);
    if (pool === undefined || space === undefined) return [];
    space.used += 1n;
    space.free[ip.family].remove(ip.value);
    return [pool];
  }
}
