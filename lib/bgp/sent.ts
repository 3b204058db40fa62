import type { ExportAttributes } from './exports.ts';
import type { Family } from './family.ts';
import type { AcceptedPeer } from './peers.ts';

/** The attributes of a class in an UPDATE of one family to one peer. */
export interface SentAttributes {
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
  /** iBGP only; undefined: none, or the default of iBGP. */
  readonly localPreference: number | undefined;
  readonly med: number | undefined;
  /** eBGP only: how many times our AS stands in front once more. */
  readonly prepend: number;
  /** Undefined: our address on the session. */
  readonly nextHop: string | undefined;
}

export function sentTo(peer: AcceptedPeer, told: ExportAttributes, family: Family): SentAttributes {
  return {
    communities: told.communities,
    largeCommunities: told.largeCommunities,
    localPreference: peer.isInternal ? told.localPreference : undefined,
    med: told.med,
    // Within an AS a path that has it is taken for a loop.
    prepend: peer.isInternal ? 0 : told.prepend,
    nextHop: told.nextHop[family] ?? peer.nextHops[family],
  };
}
