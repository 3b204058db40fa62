/** Counts how many prefixes each rule of a RoutePolicy decided on this node, over all its sessions. Pure. */
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { advertisementsFor } from '../../lib/bgp/exports.ts';
import { type Hits, tallyMany } from '../../lib/route-policy/policy.ts';
import type { SpeakerPlan } from './plan.ts';

/** Hits of export policies. */
export function exportHits({ table, peers }: Pick<SpeakerPlan, 'table' | 'peers'>): Hits {
  const asked = [...table.classes.values()].flatMap(({ routeClass, ...prefixes }) =>
    [...peers.values()]
      .filter((peer) => advertisementsFor(peer, routeClass).length > 0)
      .map((peer) => {
        const count = peer.families.reduce((sum, family) => sum + prefixes[family], 0);
        return [routeClass.verdicts.get(peer.name)?.decidedBy, count] as const;
      }),
  );
  return tallyMany(asked);
}

export function hitsOfStatus({ policies = [] }: BgpNodeStateStatus, isMeant: (policy: string) => boolean): Hits {
  const meant = policies.filter(({ policy }) => isMeant(policy));
  return new Map(
    meant.map(({ policy, rules }) => [policy, new Map(rules.map(({ index, prefixes }) => [index, prefixes]))]),
  );
}

export function statusOfHits(...all: readonly Hits[]): NonNullable<BgpNodeStateStatus['policies']> {
  return all
    .flatMap((hits) => [...hits])
    .map(([policy, rules]) => ({
      policy,
      rules: [...rules].toSorted(([a], [b]) => a - b).map(([index, prefixes]) => ({ index, prefixes })),
    }))
    .toSorted((a, b) => (a.policy < b.policy ? -1 : 1));
}
