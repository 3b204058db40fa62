/**
 * All offers of each prefix to each router, so that a change of one cluster concerns only the clusters that share a
 * prefix.
 */
import type { Offers, Offer } from '../model/offers.ts';

export class OfferTable {
  readonly #byKey = new Map<string, readonly Offer[]>();
  readonly #byCluster = new Map<string, Offers>();

  /** Replaces a cluster's offers; returns the other clusters that compete for what changed. */
  set(cluster: string, offers: Offers): ReadonlySet<string> {
    const before = this.#byCluster.get(cluster) ?? new Map<string, readonly Offer[]>();
    const rivals = new Set<string>();
    for (const key of before.keys()) if (!offers.has(key)) this.#replace(cluster, key, [], rivals);
    for (const [key, list] of offers) if (!isSame(before.get(key), list)) this.#replace(cluster, key, list, rivals);
    if (offers.size === 0) this.#byCluster.delete(cluster);
    else this.#byCluster.set(cluster, offers);
    return rivals;
  }

  all(key: string): readonly Offer[] {
    return this.#byKey.get(key) ?? [];
  }

  clear(): void {
    this.#byKey.clear();
    this.#byCluster.clear();
  }

  #replace(cluster: string, key: string, list: readonly Offer[], rivals: Set<string>): void {
    const others = this.all(key).filter((offer) => offer.cluster !== cluster);
    for (const offer of others) if (!offer.isOwn) rivals.add(offer.cluster);
    const all = [...others, ...list];
    if (all.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, all);
  }
}

function isSame(a: readonly Offer[] | undefined, b: readonly Offer[]): boolean {
  if (a?.length !== b.length) return false;
  return a.every((offer, index) => {
    const other = b[index];
    if (other?.network !== offer.network || other.preference !== offer.preference) return false;
    return other.isAlive === offer.isAlive && other.isLearned === offer.isLearned;
  });
}
