import type { AddressFamily, BgpPath, PeerConfig, PolicyStatement, RoutingPolicies } from 'gobgp-js';
import type { SpeakerPlan, WantedPeer } from '../plan/plan.ts';

/** How long gobgpd holds routes back for restarting peers that stay away; a peer that is back waits for them no longer than this. */
const deferralSeconds = 10;

/**
 * The neighbour as gobgpd takes it. One address family a session: the next hop is then always an address of the session's link.
 * Undefined while its password is not known: a session must not begin without, and one that is there stays as it is.
 */
export function renderPeer(plan: SpeakerPlan, peer: WantedPeer): PeerConfig | undefined {
  const { password } = peer;
  if (password !== undefined && 'problem' in password) return undefined;
  const restartTimeSeconds = plan.instance?.restartTimeSeconds;
  const family: AddressFamily = peer.family === 4 ? 'ipv4-unicast' : 'ipv6-unicast';
  return {
    address: peer.address,
    asn: peer.asn,
    ...(peer.localAsn !== undefined && { localAsn: peer.localAsn }),
    ...(password !== undefined && { password: password.text }),
    port: peer.port,
    isPassive: peer.isPassive,
    ebgpMultihopTtl: peer.ebgpMultihopTtl,
    // A packet begins with a TTL of 255 and loses one with every router between.
    ...(peer.ttlSecurityHops !== undefined && { ttlMin: 256 - peer.ttlSecurityHops }),
    holdTimeSeconds: peer.holdTimeSeconds,
    keepaliveSeconds: peer.keepaliveSeconds,
    families: [family],
    ...(restartTimeSeconds !== undefined && { gracefulRestart: { restartTimeSeconds, deferralSeconds } }),
  };
}

/** One path per prefix; the unspecified next hop becomes gobgpd's own address on each session. */
export function renderPath(prefix: string): BgpPath {
  return { prefix, attributes: { nextHop: prefix.includes(':') ? '::' : '0.0.0.0' } };
}

/** Nothing comes in but what this speaker puts in; out goes to each peer what the plan names for it, and nothing else. */
export function renderPolicies(plan: SpeakerPlan): RoutingPolicies {
  const told = [...plan.peers.values()].filter((peer) => peer.prefixes.length > 0);
  const statements = told.map((peer): PolicyStatement => {
    const set = setName(peer);
    return { name: set, prefixSet: set, neighborSet: set, action: 'accept' };
  });
  return {
    prefixSets: Object.fromEntries(told.map((peer) => [setName(peer), peer.prefixes])),
    neighborSets: Object.fromEntries(told.map((peer) => [setName(peer), [peer.address]])),
    largeCommunitySets: {},
    policies: {
      'isthmus-import': [{ name: 'own-paths', isLocal: true, action: 'accept' }],
      'isthmus-export': statements,
    },
    import: { policies: ['isthmus-import'], otherwise: 'reject' },
    export: { policies: ['isthmus-export'], otherwise: 'reject' },
  };
}

function setName(peer: WantedPeer): string {
  return `to-${peer.address}`;
}
