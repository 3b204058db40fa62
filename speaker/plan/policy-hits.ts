/** How many prefixes each rule of a RoutePolicy decided on this node, over all its sessions. Pure. */
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { toldTo } from '../../lib/bgp/exports.ts';
import type { Decision, Hits } from '../../lib/route-policy/policy.ts';
import type { SpeakerPlan } from './plan.ts';

export class HitCount {
  readonly #hits = new Map<string, Map<number, number>>();

  get hits(): Hits {
    return this.#hits;
  }

  /** What no rule decided is not counted. */
  add(decision: Decision | undefined, prefixes = 1): void {
    if (decision?.rule === undefined || prefixes === 0) return;
    const ofPolicy = this.#hits.get(decision.policy) ?? new Map<number, number>();
    this.#hits.set(decision.policy, ofPolicy.set(decision.rule, (ofPolicy.get(decision.rule) ?? 0) + prefixes));
  }
}

/** Of policies for what goes out. */
export function exportHits({ table, peers }: Pick<SpeakerPlan, 'table' | 'peers'>): Hits {
  const count = new HitCount();
  for (const { routeClass, ...prefixes } of table.classes.values()) {
    for (const peer of peers.values()) {
      if (toldTo(peer, routeClass).length === 0) continue;
      const asked = peer.families.reduce((sum, family) => sum + prefixes[family], 0);
      count.add(routeClass.verdicts.get(peer.name)?.decidedBy, asked);
    }
  }
  return count.hits;
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
