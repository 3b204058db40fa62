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
  /** eBGP only: how many times the own AS is prepended in addition. */
  readonly prepend: number;
  /** Undefined: this node's address on the session. */
  readonly nextHop: string | undefined;
}

export function sentTo(peer: AcceptedPeer, exported: ExportAttributes, family: Family): SentAttributes {
  return {
    communities: exported.communities,
    largeCommunities: exported.largeCommunities,
    localPreference: peer.isInternal ? exported.localPreference : undefined,
    med: exported.med,
    // A router of the same AS takes a path with its own AS for a loop.
    prepend: peer.isInternal ? 0 : exported.prepend,
    nextHop: exported.nextHop[family] ?? peer.nextHops[family],
  };
}
