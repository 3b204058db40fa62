// The announcement of a class of prefixes to a peer: none, or the union of the attributes of the advertisements that the peer selects.
import { type BgpAttributes, wellKnownCommunities } from '../api/kinds/bgp-advertisement.ts';
import { matchesSelector } from '../api/label-selector.ts';
import { isInNetwork } from './classes.ts';
import type { ClassAdvertisement, ClassGateway, RouteClass } from './classes.ts';
import { type Family, familyOfAddress } from './family.ts';
import { interconnectCommunity } from './interconnect-community.ts';
import type { AcceptedPeer } from './peers.ts';

/** What a node adds to the MED of an EIP, by its relation to the router port. */
const addedMed = { Here: 0, Elsewhere: 100, Down: 200 } as const;
const mostMed = 4_294_967_295;

/** How a class is announced to one peer. */
export interface ExportAttributes {
  /** `asn:value`, sorted. */
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
  readonly localPreference: number | undefined;
  readonly med: number | undefined;
  readonly prepend: number;
  /** Undefined: this node's address on the session. */
  readonly nextHop: { readonly ipv4: string | undefined; readonly ipv6: string | undefined };
}

/** The advertisements of the class that apply to the peer. */
export function advertisementsFor(peer: AcceptedPeer, routeClass: RouteClass): readonly ClassAdvertisement[] {
  return routeClass.advertisements.filter((each) => isFor(peer, each));
}

/** Whether an advertisement applies to the peer: the peer selects it, and it does not name only other peers. */
export function isFor(
  peer: Pick<AcceptedPeer, 'name' | 'advertisements'>,
  { labels, peers }: Pick<ClassAdvertisement, 'labels' | 'peers'>,
): boolean {
  return matchesSelector(peer.advertisements, labels) && (peers === undefined || peers.includes(peer.name));
}

/** Undefined if the class is not announced to the peer. */
export function exportOf(peer: AcceptedPeer, routeClass: RouteClass): ExportAttributes | undefined {
  const advertisements = advertisementsFor(peer, routeClass).map(({ attributes }) => attributes);
  const verdict = routeClass.verdicts.get(peer.name);
  if (advertisements.length === 0 || verdict?.isAllowed === false) return undefined;
  const sets = verdict?.sets;
  const given: readonly BgpAttributes[] = sets
    ? [...advertisements, { communities: sets.communities }]
    : advertisements;
  const communities = given.flatMap(({ communities: named }) => [
    ...(named?.standard ?? []),
    ...(named?.wellKnown ?? []).map((name) => wellKnownCommunities[name]),
  ]);
  if (routeClass.isLeaving) communities.push(wellKnownCommunities['graceful-shutdown']);
  const large = given.flatMap(({ communities: named }) => named?.large ?? []);
  if (routeClass.cluster !== undefined) large.push(interconnectCommunity(routeClass.cluster));
  const highestPreference = best(
    given.map((each) => each.localPreference),
    Math.max,
  );
  const lowestMed = best(
    given.map((each) => each.med),
    Math.min,
  );
  const fewest = Math.min(...advertisements.map((each) => each.asPathPrepend ?? 0));
  const nextHopOf = (family: Family) =>
    sets?.nextHop?.[family] ??
    given.find((each) => each.nextHop?.[family] !== undefined)?.nextHop?.[family] ??
    gatewayHop(peer, routeClass.gateway, family);
  return {
    communities: sortedUnique(communities),
    largeCommunities: sortedUnique(large),
    // gobgpd treats 0 as none.
    localPreference: routeClass.isLeaving ? 1 : (sets?.localPreference ?? highestPreference),
    med: medAt(routeClass.gateway, sets?.med ?? lowestMed),
    prepend: sets?.asPathPrepend ?? fewest,
    nextHop: { ipv4: nextHopOf('ipv4'), ipv6: nextHopOf('ipv6') },
  };
}

/**
 * The node itself where nodes route to the port. Else the router port where the peer is in its network. Elsewhere it is a node with an address in that network, whose kernel reaches the port; any
 * other node would send the packets back to the peer.
 */
function gatewayHop({ address }: AcceptedPeer, gateway: ClassGateway | undefined, family: Family): string | undefined {
  if (gateway?.address === undefined || familyOfAddress(gateway.address) !== family) return undefined;
  const isNode = gateway.isNodeInNetwork && !isInNetwork(address, gateway.network);
  return isNode ? undefined : gateway.address;
}

/** A node that does not have the port is the second choice, also of routers that take a missing MED for the worst. */
function medAt(gateway: ClassGateway | undefined, med: number | undefined): number | undefined {
  if (gateway === undefined) return med;
  return Math.min((med ?? 0) + addedMed[gateway.place], mostMed);
}

function best(values: readonly (number | undefined)[], choose: (...values: number[]) => number): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : choose(...given);
}

function sortedUnique(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}
