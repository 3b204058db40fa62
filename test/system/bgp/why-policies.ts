// For why.test.ts: RoutePolicies of the routers' sessions, also with plain values of the denied ranges, so that the test can check independently.
import { routePolicies } from '../../../lib/kube/resources.ts';
import { holds } from '../../../lib/bgp/own-prefixes.ts';
import { pick, type Random } from '../../../lib/testing-random.ts';
import type { SpeakerBed } from './speaker-bed.ts';

export interface DeniedRanges {
  readonly policy: string;
  readonly peers: readonly string[];
  /** Prefixes in `cidr` whose length is at least `ge`. */
  readonly ranges: readonly { readonly cidr: string; readonly ge: number }[];
}

/** Two policies; the sessions `tor1-v6` and `twin` have none. */
export async function createPolicies(bed: SpeakerBed, random: Random, subnets: number): Promise<DeniedRanges> {
  // Some subnets announce nothing; others announce no hosts and no aggregates.
  const first = random(subnets);
  const some = [0, 3, 5, 10].map((step) => 1 + ((first + step) % subnets));
  const ranges = some.flatMap((at) =>
    random(2) === 0
      ? [{ cidr: `10.20.${at}.0/24`, ge: 24 }]
      : [
          { cidr: `10.20.${at}.0/24`, ge: 28 },
          { cidr: `fd00:20:${at}::/64`, ge: 120 },
        ],
  );
  const denied: DeniedRanges = { policy: 'leaves', peers: ['tor1', 'tor2', 'dead'], ranges };
  const anyCommunity = () => `65001:${1 + random(9)}`;
  await bed.create(routePolicies, denied.policy, {
    direction: 'Export',
    bgpPeers: denied.peers,
    rules: [
      { match: { prefixes: ranges }, action: 'Deny' },
      {
        match: { prefixes: [{ cidr: '198.51.100.64/26', ge: 32 }], sources: ['Service'] },
        setBgp: {
          med: random(100),
          localPreference: 1 + random(500),
          asPathPrepend: 1 + random(3),
          communities: { standard: [anyCommunity()], large: ['65001:3:4'], wellKnown: ['no-peer'] },
        },
      },
      {
        match: { prefixes: [{ cidr: '10.20.0.0/16', ge: 24, le: pick(random, [24, 31, 32]) }] },
        setBgp: { med: random(100), communities: { standard: [anyCommunity()] } },
      },
    ],
  });
  await bed.create(routePolicies, 'own-as', {
    direction: 'Export',
    priority: 200,
    bgpPeers: ['tor2'],
    rules: [
      { match: { sources: ['Service'] }, action: 'Allow', setBgp: { localPreference: 1 + random(500) } },
      { match: { sources: ['Subnet'], prefixes: [{ cidr: 'fd00::/16', ge: 16 }] }, setBgp: { localPreference: 77 } },
    ],
  });
  return denied;
}

export function isDenied({ peers, ranges }: DeniedRanges, peer: string, prefix: string): boolean {
  return peers.includes(peer) && ranges.some(({ cidr, ge }) => holds(cidr, prefix) && lengthOf(prefix) >= ge);
}

export function lengthOf(prefix: string): number {
  return Number(prefix.slice(prefix.indexOf('/') + 1));
}
