// What a peer is told of a class of prefixes: nothing, or the union of what the advertisements say that the peer selects.
import { wellKnownCommunities } from '../api/kinds/bgp-advertisement.ts';
import { matchesSelector } from '../api/label-selector.ts';
import type { ClassAdvertisement, RouteClass } from './classes.ts';
import type { AcceptedPeer } from './peers.ts';

/** How a class is announced to one peer. */
export interface ExportAttributes {
  /** `asn:value`, sorted. */
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
  readonly localPreference: number | undefined;
  readonly med: number | undefined;
  readonly prepend: number;
  /** Undefined: our address on the session. */
  readonly nextHop: { readonly ipv4: string | undefined; readonly ipv6: string | undefined };
}

/** The advertisements of the class that the peer is told. */
export function toldTo(peer: AcceptedPeer, routeClass: RouteClass): readonly ClassAdvertisement[] {
  return routeClass.advertisements.filter(
    ({ labels, peers }) =>
      matchesSelector(peer.advertisements, labels) && (peers === undefined || peers.includes(peer.name)),
  );
}

/** Undefined where the peer is not told of the class. */
export function exportOf(peer: AcceptedPeer, routeClass: RouteClass): ExportAttributes | undefined {
  const told = toldTo(peer, routeClass).map(({ attributes }) => attributes);
  if (told.length === 0) return undefined;
  const communities = told.flatMap(({ communities: given }) => [
    ...(given?.standard ?? []),
    ...(given?.wellKnown ?? []).map((name) => wellKnownCommunities[name]),
  ]);
  if (routeClass.isLeaving) communities.push(wellKnownCommunities['graceful-shutdown']);
  const large = told.flatMap(({ communities: given }) => given?.large ?? []);
  return {
    communities: sortedUnique(communities),
    largeCommunities: sortedUnique(large),
    // gobgpd takes 0 for none.
    localPreference: routeClass.isLeaving
      ? 1
      : best(
          Math.max,
          told.map((each) => each.localPreference),
        ),
    med: best(
      Math.min,
      told.map((each) => each.med),
    ),
    prepend: Math.min(...told.map((each) => each.asPathPrepend ?? 0)),
    nextHop: {
      ipv4: told.find((each) => each.nextHop?.ipv4 !== undefined)?.nextHop?.ipv4,
      ipv6: told.find((each) => each.nextHop?.ipv6 !== undefined)?.nextHop?.ipv6,
    },
  };
}

function best(choose: (...values: number[]) => number, values: readonly (number | undefined)[]): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : choose(...given);
}

function sortedUnique(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}
