import { canonicalAddress, canonicalNeighbor, withoutZone } from './address.ts';
import { type DecodedAttributes, decodeAttributes, origins } from './attributes.ts';
import { communityText } from './communities.ts';
import {
  evpnOfMessage,
  type EvpnPrefixMessage,
  type ExtendedCommunityMessage,
  extendedCommunitiesOfMessages,
} from './evpn-messages.ts';
import { type AddressFamily, canonicalPrefix, familyOfNumber } from './nlri.ts';
import { decodeRoute, type Route, type RouteKey } from './route-nlri.ts';

/** A change of a neighbour's routes; `peer` is the neighbour's address. */
export type RouteChange =
  | (Route & { readonly peer: string; readonly isWithdrawn: false; readonly attributes: DecodedAttributes })
  | (RouteKey & { readonly peer: string; readonly isWithdrawn: true; readonly attributes?: never });

interface AttributeMessage {
  readonly origin?: { readonly origin: number } | null;
  readonly as_path?: { readonly segments: readonly { readonly numbers: readonly number[] }[] } | null;
  readonly next_hop?: { readonly next_hop: string } | null;
  readonly multi_exit_disc?: { readonly med: number } | null;
  readonly local_pref?: { readonly local_pref: number } | null;
  readonly communities?: { readonly communities: readonly number[] } | null;
  readonly mp_reach?: { readonly next_hops: readonly string[] } | null;
  readonly extended_communities?: { readonly communities: readonly ExtendedCommunityMessage[] } | null;
  readonly large_communities?: {
    readonly communities: readonly {
      readonly global_admin: number;
      readonly local_data1: number;
      readonly local_data2: number;
    }[];
  } | null;
}

/** A path of an event, which contains text where a list contains bytes. */
export interface EventPathMessage {
  readonly nlri?: {
    readonly prefix?: { readonly prefix: string; readonly prefix_len: number } | null;
    readonly evpn_ip_prefix?: EvpnPrefixMessage | null;
  } | null;
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

/**
 * The change in an event; undefined for an End-of-RIB, for unwanted families, and for EVPN routes other than IP prefix routes.
 */
export function changeOfEvent(message: EventPathMessage, families: readonly AddressFamily[]): RouteChange | undefined {
  const family = message.family ? familyOfNumber(message.family.afi, message.family.safi) : undefined;
  if (!family || !families.includes(family)) return undefined;
  const route = routeOfEvent(family, message);
  if (!route) return undefined;
  const peer = canonicalNeighbor(message.neighbor_ip);
  return message.is_withdraw
    ? withdrawal(peer, keyOf(route))
    : { peer, ...route, isWithdrawn: false, attributes: attributesOf(message.pattrs) };
}

/** A route from before the first event; undefined for EVPN routes other than IP prefix routes. */
export function changeOfListed(
  peer: string,
  family: AddressFamily,
  path: ListedPathMessage,
): Extract<RouteChange, { isWithdrawn: false }> | undefined {
  const route = decodeRoute(family, path.nlri_binary);
  return route && { peer, ...route, isWithdrawn: false, attributes: decodeAttributes(path.pattrs_binary) };
}

/** The change that withdraws a route. */
export function withdrawal(peer: string, key: RouteKey): RouteChange {
  return { peer, ...key, isWithdrawn: true };
}

function routeOfEvent(family: AddressFamily, { nlri }: EventPathMessage): Route | undefined {
  if (family === 'l2vpn-evpn') {
    const route = nlri?.evpn_ip_prefix ? evpnOfMessage(nlri.evpn_ip_prefix) : undefined;
    return route && { family, ...route };
  }
  return nlri?.prefix
    ? { family, prefix: canonicalPrefix(`${nlri.prefix.prefix}/${nlri.prefix.prefix_len}`) }
    : undefined;
}

/** Fields of a withdrawal beside the key have no meaning. */
function keyOf(route: Route): RouteKey {
  if (!route.evpn) return route;
  const { rd, ethernetTag } = route.evpn;
  return { ...route, evpn: { rd, ...(ethernetTag !== undefined && { ethernetTag }) } };
}

function attributesOf(messages: readonly AttributeMessage[]): DecodedAttributes {
  // Each message holds one attribute; all of them together hold each once.
  const all: AttributeMessage = Object.assign({}, ...messages.map(present)) as AttributeMessage;
  const { mp_reach: reach, next_hop: next, multi_exit_disc: med, local_pref: localPref } = all;
  const { extended_communities: extended } = all;
  const origin = origins[all.origin?.origin ?? origins.length];
  const nextHop = reach?.next_hops[0] ?? next?.next_hop ?? '';
  return {
    nextHop: nextHop === '' ? '' : canonicalAddress(withoutZone(nextHop)),
    asPath: all.as_path?.segments.flatMap(({ numbers }) => numbers) ?? [],
    ...(origin && { origin }),
    ...(med && { med: med.med }),
    ...(localPref && { localPref: localPref.local_pref }),
    communities: all.communities?.communities.map(communityText) ?? [],
    largeCommunities:
      all.large_communities?.communities.map(
        ({ global_admin: admin, local_data1: first, local_data2: second }) => `${admin}:${first}:${second}`,
      ) ?? [],
    ...(extended && extendedCommunitiesOfMessages(extended.communities)),
  };
}

function present(message: AttributeMessage): AttributeMessage {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== null));
}
