// Destinations of paths: a prefix, or a prefix within an EVPN. A prefix without EVPN is unicast.
import {
  canonicalEvpnKey,
  decodeEvpn,
  encodeEvpn,
  encodeEvpnKey,
  evpnFingerprint,
  type EvpnKey,
  type EvpnPrefix,
} from './evpn.ts';
import { type AddressFamily, decodePrefix, encodeUnicast, familyOfPrefix, type UnicastFamily } from './nlri.ts';

/** Identifies one of our paths. */
export interface PathKey {
  readonly prefix: string;
  /** Undefined: unicast. */
  readonly evpn?: EvpnKey;
}

/** An existing route. */
export type Route =
  | { readonly family: UnicastFamily; readonly prefix: string; readonly evpn?: never }
  | { readonly family: 'l2vpn-evpn'; readonly prefix: string; readonly evpn: EvpnPrefix };

/** A withdrawn route. */
export type RouteKey =
  | { readonly family: UnicastFamily; readonly prefix: string; readonly evpn?: never }
  | { readonly family: 'l2vpn-evpn'; readonly prefix: string; readonly evpn: EvpnKey };

interface EncodedRoute {
  readonly family: AddressFamily;
  readonly nlri: Uint8Array;
}

/** Family and NLRI bytes of a route to announce. @throws GobgpInvalidArgument */
export function encodeRoute(prefix: string, evpn: EvpnPrefix | undefined): EncodedRoute {
  return evpn ? { family: 'l2vpn-evpn', nlri: encodeEvpn(prefix, evpn) } : encodeUnicast(prefix);
}

/** Family and NLRI bytes of a route to withdraw. @throws GobgpInvalidArgument */
export function encodeRouteKey(prefix: string, evpn: EvpnKey | undefined): EncodedRoute {
  return evpn ? { family: 'l2vpn-evpn', nlri: encodeEvpnKey(prefix, evpn) } : encodeUnicast(prefix);
}

/** The route of NLRI bytes; undefined for EVPN routes other than IP prefix routes. @throws GobgpInvalidArgument */
export function decodeRoute(family: AddressFamily, nlri: Uint8Array): Route | undefined {
  if (family !== 'l2vpn-evpn') return { family, prefix: decodePrefix(family, nlri) };
  const route = decodeEvpn(nlri);
  return route && { family, ...route };
}

/** A path's fingerprint, from that of its attributes. @throws GobgpInvalidArgument */
export function routeFingerprint(family: AddressFamily, nlri: Uint8Array, attributes: string): string {
  return family === 'l2vpn-evpn' ? `${evpnFingerprint(nlri)} ${attributes}` : attributes;
}

/** A text that is equal for two paths exactly if one replaces the other: for unicast the prefix itself. @throws GobgpInvalidArgument */
export function routeKey({ prefix, evpn }: PathKey): string {
  if (!evpn) return prefix;
  const { rd, ethernetTag = 0 } = canonicalEvpnKey(evpn);
  return `${prefix} ${rd} ${ethernetTag}`;
}

/** The route of a key. */
export function routeOfKey(key: string): RouteKey {
  const [prefix = '', rd, tag] = key.split(' ');
  if (rd === undefined) return { family: familyOfPrefix(prefix), prefix };
  return { family: 'l2vpn-evpn', prefix, evpn: canonicalEvpnKey({ rd, ethernetTag: Number(tag) }) };
}
