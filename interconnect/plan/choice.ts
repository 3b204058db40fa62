/** Which of several offers of one prefix a router uses. Pure. */

/** A prefix that one cluster offers on one network. */
export interface Offer {
  readonly cluster: string;
  readonly network: string;
  readonly isForeign: boolean;
  readonly preference: number;
  /** Whether some path there carries traffic. */
  readonly isAlive: boolean;
}

export type Choice =
  | { readonly kind: 'used' }
  /** Another is preferred, and works. */
  | { readonly kind: 'backup'; readonly cluster: string; readonly network: string }
  /** Of another cluster, which is as much preferred and comes first. */
  | { readonly kind: 'taken'; readonly cluster: string };

const used: Choice = { kind: 'used' };

/**
 * The highest preference that works is used. Of several clusters at one preference a single one can have the prefix: one
 * the hub answers for before others, then by name, so that every start decides the same. One cluster's offers of one
 * preference on several networks share the load.
 */
export function choose(offer: Offer, all: readonly Offer[]): Choice {
  if (all.length <= 1) return used;
  const owner = ownerOf(all, offer.preference);
  if (owner !== undefined && owner.cluster !== offer.cluster) return { kind: 'taken', cluster: owner.cluster };
  const alive = all.filter((other) => other.isAlive && ownerOf(all, other.preference)?.cluster === other.cluster);
  const best = alive.reduce<Offer | undefined>(
    (a, b) => (a === undefined || b.preference > a.preference ? b : a),
    undefined,
  );
  if (best === undefined || best.preference <= offer.preference) return used;
  return { kind: 'backup', cluster: best.cluster, network: best.network };
}

function ownerOf(all: readonly Offer[], preference: number): Offer | undefined {
  return all
    .filter((offer) => offer.preference === preference)
    .reduce<Offer | undefined>((a, b) => (a === undefined || comesBefore(b, a) ? b : a), undefined);
}

function comesBefore(a: Offer, b: Offer): boolean {
  if (a.isForeign !== b.isForeign) return b.isForeign;
  return a.cluster < b.cluster;
}
