/** Which of several offers of one prefix a router uses. Pure. */
import type { Offer } from '../model/offers.ts';

export type Choice =
  | { readonly kind: 'used' }
  /** Another works, and is preferred by a policy or comes first. */
  | { readonly kind: 'backup'; readonly cluster: string; readonly network: string; readonly isByPolicy: boolean }
  /** A router of this cluster leads there. */
  | { readonly kind: 'own' }
  /** The prefix belongs to another cluster, which has the same preference and comes first. */
  | { readonly kind: 'taken'; readonly cluster: string };

const used: Choice = { kind: 'used' };

/**
 * Prefixes of clusters and prefixes of routers do not compete. The cluster whose own addresses they are comes first,
 * then the routers of this cluster, whatever the preferences: the controller makes those routes and must not depend on
 * policies here.
 */
export function choose(offer: Offer, all: readonly Offer[]): Choice {
  if (all.length <= 1) return used;
  const owned = all.filter(({ isLearned }) => !isLearned);
  if (!offer.isLearned) return chooseOwned(offer, owned);
  const [holder] = owned;
  if (holder !== undefined) return backup(holder, false);
  return all.some(({ isOwn }) => isOwn) ? { kind: 'own' } : chooseLearned(offer, all);
}

/**
 * The highest preference with a working path is used. At one preference only one cluster can have the prefix: members
 * of the hub come before foreign zones, then the name decides, so that every start has the same result. Offers of one
 * cluster with one preference on several networks share the load.
 */
function chooseOwned(offer: Offer, all: readonly Offer[]): Choice {
  const owner = ownerOf(all, offer.preference);
  if (owner !== undefined && owner.cluster !== offer.cluster) return { kind: 'taken', cluster: owner.cluster };
  const alive = all.filter((other) => other.isAlive && ownerOf(all, other.preference)?.cluster === other.cluster);
  const best = alive.reduce<Offer | undefined>(
    (a, b) => (a === undefined || b.preference > a.preference ? b : a),
    undefined,
  );
  return best === undefined || best.preference <= offer.preference ? used : backup(best, true);
}

/** Offers with a working path come first: the others lead to the same place another way. */
function chooseLearned(offer: Offer, all: readonly Offer[]): Choice {
  const alive = all.filter(({ isAlive }) => isAlive);
  const pool = alive.length > 0 ? alive : all;
  const highest = Math.max(...pool.map(({ preference }) => preference));
  const owner = ownerOf(pool, highest);
  if (owner === undefined || (owner.cluster === offer.cluster && offer.preference === highest)) return used;
  return backup(owner, offer.preference < highest);
}

function backup({ cluster, network }: Offer, isByPolicy: boolean): Choice {
  return { kind: 'backup', cluster, network, isByPolicy };
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
