import type { RouteClass } from '../../lib/bgp/classes.ts';
import { type ExportAttributes, exportOf } from '../../lib/bgp/exports.ts';
import { type Family, familyOfAddress } from '../../lib/bgp/family.ts';
import { sentTo } from '../../lib/bgp/sent.ts';
import type { AddressFamily, BgpPath, PeerConfig, PolicyActions, PolicyStatement, RoutingPolicies } from 'gobgp-js';
import type { SpeakerPlan, WantedPeer } from '../plan/plan.ts';

/**
 * How long gobgpd holds routes back for restarting peers that stay away or return without graceful restart; all other peers wait for them.
 * Announcements do not depend on received routes, so the minimum that gobgpd accepts is sufficient.
 */
const deferralSeconds = 1;

const addressFamilyOf = { ipv4: 'ipv4-unicast', ipv6: 'ipv6-unicast' } as const satisfies Record<Family, AddressFamily>;

/**
 * The neighbour as gobgpd's configuration.
 * Undefined while its password is not known: a session must not start without its password, and an existing session
 * stays unchanged.
 */
export function renderPeer(peer: WantedPeer, routerId: string): PeerConfig | undefined {
  const { password, gracefulRestart: restart, bfd } = peer;
  if (password !== undefined && 'problem' in password) return undefined;
  return {
    address: peer.address,
    asn: peer.asn,
    ...(peer.localAsn !== undefined && { localAsn: peer.localAsn }),
    ...(peer.sourceAddress !== undefined && { sourceAddress: peer.sourceAddress }),
    ...(password !== undefined && { password: password.text }),
    port: peer.port,
    isPassive: peer.isPassive,
    ebgpMultihopTtl: peer.ebgpMultihopTtl,
    // A packet starts with a TTL of 255, and each router on the way subtracts one.
    ...(peer.ttlSecurityHops !== undefined && { ttlMin: 256 - peer.ttlSecurityHops }),
    holdTimeSeconds: peer.holdTimeSeconds,
    keepaliveSeconds: peer.keepaliveSeconds,
    connectRetrySeconds: peer.connectRetrySeconds,
    families: peer.families.map((family) => addressFamilyOf[family]),
    ...(restart !== undefined && {
      gracefulRestart: {
        restartTimeSeconds: restart.restartTimeSeconds,
        deferralSeconds,
        ...(restart.longLivedStaleSeconds !== undefined && { longLivedStaleSeconds: restart.longLivedStaleSeconds }),
      },
    }),
    ...(bfd !== undefined && {
      bfd: {
        transmitMs: bfd.transmitIntervalMilliseconds,
        receiveMs: bfd.receiveIntervalMilliseconds,
        multiplier: bfd.detectMultiplier,
      },
    }),
    ...(peer.isReflectorClient && { routeReflectorClient: { clusterId: routerId } }),
    ...(peer.maximumPrefixes !== undefined && { maxPrefixes: peer.maximumPrefixes.limit }),
  };
}

type AttributesByFamily = Readonly<Record<Family, BgpPath['attributes']>>;
const attributes = new WeakMap<RouteClass, AttributesByFamily>();

/** One path per prefix; paths of the same class and family share one attributes object, which is encoded once. */
export function renderPath(prefix: string, routeClass: RouteClass): BgpPath {
  const known = attributes.get(routeClass) ?? renderAttributes(routeClass);
  attributes.set(routeClass, known);
  return { prefix, attributes: known[familyOfAddress(prefix)] };
}

/** The unspecified next hop becomes gobgpd's own address on each session. */
function renderAttributes({ tag }: RouteClass): AttributesByFamily {
  const largeCommunities = [tag];
  return { ipv4: { nextHop: '0.0.0.0', largeCommunities }, ipv6: { nextHop: '::', largeCommunities } };
}

/**
 * Only this speaker's own paths enter the table; each peer receives exactly what the plan names for it. If a peer is a route reflector client, the
 * routes of peers of our own AS enter the table too, and are sent to it by the rules of RFC 4456.
 */
export function renderPolicies(plan: SpeakerPlan): RoutingPolicies {
  const asn = plan.instance?.asn ?? 0;
  const classes = [...plan.table.classes.values()].map(({ routeClass }) => routeClass);
  const peers = [...plan.peers.values()];
  const internal = peers.some((peer) => peer.isReflectorClient) ? peers.filter((peer) => peer.isInternal) : [];
  const own = peers.flatMap((peer) => classes.flatMap((routeClass) => renderExport(peer, routeClass, asn)));
  return policiesOf(
    internal.length > 0 ? [...own, reflectedOut] : own,
    {
      ...Object.fromEntries(peers.map(({ address }) => [neighborSet(address), [address]])),
      ...(internal.length > 0 && { [internalSet]: internal.map(({ address }) => address) }),
    },
    Object.fromEntries(classes.map(({ id, tag }) => [classSet(id), [tag]])),
  );
}

const internalSet = 'internal';
const ownPaths: PolicyStatement = { name: 'own-paths', isLocal: true, action: 'accept' };
const reflectedIn: PolicyStatement = { name: 'reflected-in', neighborSet: internalSet, action: 'accept' };
const reflectedOut: PolicyStatement = {
  name: 'reflected-out',
  neighborSet: internalSet,
  isInternal: true,
  action: 'accept',
};

/** Policies with the statements in the order in which gobgpd returns them, independent of how they were created. */
export function policiesOf(
  statements: readonly PolicyStatement[],
  neighborSets: RoutingPolicies['neighborSets'],
  largeCommunitySets: RoutingPolicies['largeCommunitySets'],
): RoutingPolicies {
  const used = (which: 'neighborSet' | 'largeCommunitySet') => new Set(statements.map((each) => each[which]));
  const only = (sets: Readonly<Record<string, readonly string[]>>, names: ReadonlySet<string | undefined>) =>
    Object.fromEntries(Object.entries(sets).filter(([name]) => names.has(name)));
  return {
    prefixSets: {},
    neighborSets: only(neighborSets, used('neighborSet')),
    largeCommunitySets: only(largeCommunitySets, used('largeCommunitySet')),
    policies: {
      'isthmus-import': statements.includes(reflectedOut) ? [ownPaths, reflectedIn] : [ownPaths],
      'isthmus-export': statements.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    },
    import: { policies: ['isthmus-import'], otherwise: 'reject' },
    export: { policies: ['isthmus-export'], otherwise: 'reject' },
  };
}

/** Statements of one peer about one class; none if the class is not announced to it. */
function renderExport(peer: WantedPeer, routeClass: RouteClass, ownAsn: number): PolicyStatement[] {
  const exported = exportOf(peer, routeClass);
  if (!exported) return [];
  return peer.families.map((family): PolicyStatement => {
    const base = `${neighborSet(peer.address)} ${classSet(routeClass.id)} ${family}`;
    return {
      name: base,
      neighborSet: neighborSet(peer.address),
      largeCommunitySet: classSet(routeClass.id),
      family: addressFamilyOf[family],
      action: 'accept',
      actions: renderActions(peer, routeClass, exported, family, ownAsn),
    };
  });
}

function renderActions(
  peer: WantedPeer,
  { tag }: RouteClass,
  exported: ExportAttributes,
  family: Family,
  ownAsn: number,
): PolicyActions {
  const sent = sentTo(peer, exported, family);
  return {
    ...(sent.communities.length > 0 && { addCommunities: sent.communities }),
    ...(sent.largeCommunities.length > 0 && { addLargeCommunities: sent.largeCommunities }),
    removeLargeCommunities: [tag],
    ...(sent.med !== undefined && { med: sent.med }),
    ...(sent.localPreference !== undefined && { localPref: sent.localPreference }),
    ...(sent.prepend > 0 && { prepend: { asn: peer.localAsn ?? ownAsn, times: sent.prepend } }),
    ...(sent.nextHop !== undefined && { nextHop: sent.nextHop }),
  };
}

function neighborSet(address: string): string {
  return `to-${address}`;
}

function classSet(id: string): string {
  return `class-${id}`;
}

/** The class that a statement applies to. */
export function classOfStatement({ largeCommunitySet = '' }: PolicyStatement): string {
  return largeCommunitySet.slice('class-'.length);
}
