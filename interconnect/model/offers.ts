/** Offers of one prefix to one router, which compete with each other. */

/** A prefix that one cluster offers on one network. */
export interface Offer {
  readonly cluster: string;
  readonly network: string;
  readonly isForeign: boolean;
  readonly preference: number;
  /** Whether some path there carries traffic. */
  readonly isAlive: boolean;
  /** That cluster has it from its routers: several may, and none of them owns it. */
  readonly isLearned: boolean;
  /** From a router of this cluster; `cluster` and `network` are empty. */
  readonly isOwn: boolean;
}

/** Offers of one cluster by what they compete for: `offerKey`. */
export type Offers = ReadonlyMap<string, readonly Offer[]>;

export function offerKey(router: string, prefix: string): string {
  return `${router} ${prefix}`;
}

/** Offers of this cluster's own routers compete under no cluster's name. */
export const ownOffers = '';
