import { canonicalAddress } from './address.ts';
import { type DecodedAttributes, decodeAttributes, origins } from './attributes.ts';
import { communityText } from './communities.ts';
import { type AddressFamily, canonicalPrefix, decodePrefix, familyOfNumber } from './nlri.ts';

/** One change in what a neighbour announces. */
export interface RouteChange {
  /** The neighbour's address. */
  readonly peer: string;
  readonly prefix: string;
  readonly family: AddressFamily;
  readonly isWithdrawn: boolean;
  /** Undefined when withdrawn. */
  readonly attributes?: DecodedAttributes;
}

interface AttributeMessage {
  readonly origin?: { readonly origin: number } | null;
  readonly as_path?: { readonly segments: readonly { readonly numbers: readonly number[] }[] } | null;
  readonly next_hop?: { readonly next_hop: string } | null;
  readonly multi_exit_disc?: { readonly med: number } | null;
  readonly local_pref?: { readonly local_pref: number } | null;
  readonly communities?: { readonly communities: readonly number[] } | null;
  readonly mp_reach?: { readonly next_hops: readonly string[] } | null;
  readonly large_communities?: {
    readonly communities: readonly {
      readonly global_admin: number;
      readonly local_data1: number;
      readonly local_data2: number;
    }[];
  } | null;
}

/** A path of an event, which gobgpd gives in words where a list gives it in bytes. */
export interface EventPathMessage {
  readonly nlri?: { readonly prefix?: { readonly prefix: string; readonly prefix_len: number } | null } | null;
  readonly pattrs: readonly AttributeMessage[];
  readonly is_withdraw: boolean;
  readonly family?: { readonly afi: number; readonly safi: number } | null;
  readonly neighbor_ip: string;
}

export interface ListedPathMessage {
  readonly nlri_binary: Uint8Array;
  readonly pattrs_binary: readonly Uint8Array[];
  readonly neighbor_ip: string;
  readonly stale: boolean;
}

/** The change an event tells of; undefined for an End-of-RIB and for families this package does not speak. */
export function changeOfEvent(message: EventPathMessage): RouteChange | undefined {
  const { nlri, family: number } = message;
  const family = number ? familyOfNumber(number.afi, number.safi) : undefined;
  if (!family || !nlri?.prefix) return undefined;
  return {
    peer: canonicalAddress(message.neighbor_ip),
    prefix: canonicalPrefix(`${nlri.prefix.prefix}/${nlri.prefix.prefix_len}`),
    family,
    isWithdrawn: message.is_withdraw,
    ...(!message.is_withdraw && { attributes: attributesOf(message.pattrs) }),
  };
}

/** A route that was there before the first event. */
export function changeOfListed(peer: string, family: AddressFamily, path: ListedPathMessage): RouteChange {
  return {
    peer,
    prefix: decodePrefix(family, path.nlri_binary),
    family,
    isWithdrawn: false,
    attributes: decodeAttributes(path.pattrs_binary),
  };
}

function attributesOf(messages: readonly AttributeMessage[]): DecodedAttributes {
  // Each message holds one attribute; all of them together hold each once.
  const all: AttributeMessage = Object.assign({}, ...messages.map(present)) as AttributeMessage;
  const { mp_reach: reach, next_hop: next, multi_exit_disc: med, local_pref: localPref } = all;
  const origin = origins[all.origin?.origin ?? origins.length];
  const nextHop = reach?.next_hops[0] ?? next?.next_hop ?? '';
  return {
    nextHop: nextHop === '' ? '' : canonicalAddress(nextHop.replace(/%.*$/, '')),
    asPath: all.as_path?.segments.flatMap(({ numbers }) => numbers) ?? [],
    ...(origin && { origin }),
    ...(med && { med: med.med }),
    ...(localPref && { localPref: localPref.local_pref }),
    communities: all.communities?.communities.map(communityText) ?? [],
    largeCommunities:
      all.large_communities?.communities.map(
        ({ global_admin: admin, local_data1: first, local_data2: second }) => `${admin}:${first}:${second}`,
      ) ?? [],
  };
}

function present(message: AttributeMessage): AttributeMessage {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== null));
}
