/**
 * The places of the policies of the whole cluster in their tier, by the order of `lib/policies`. In: these policies. Out: for each, how many rules come before
 * its own.
 */
import { compareInTier } from '../../../lib/policies/cluster-order.ts';
import { policyDirections } from '../../../lib/policies/selection.ts';
import type { ClusterTier } from '../../../lib/policies/policy.ts';
import type { ClusterPolicy } from '../../model/objects.ts';
import type { PolicyPlace } from '../../model/view.ts';

type Named = readonly [name: string, policy: ClusterPolicy];

function placesOf(sorted: readonly Named[]): ReadonlyMap<string, PolicyPlace> {
  const total = { ingress: 0, egress: 0 };
  for (const [, policy] of sorted)
    for (const direction of policyDirections) total[direction] += policy[direction]?.length ?? 0;
  const before = { ingress: 0, egress: 0 };
  const places = new Map<string, PolicyPlace>();
  for (const [index, [name, policy]] of sorted.entries()) {
    const [previous] = sorted.slice(Math.max(0, index - 1), index);
    const place = { ingress: before.ingress, egress: before.egress };
    for (const direction of policyDirections) before[direction] += policy[direction]?.length ?? 0;
    places.set(name, {
      ...place,
      isFollowed: { ingress: before.ingress < total.ingress, egress: before.egress < total.egress },
      rival: previous?.[1].priority === policy.priority ? previous[0] : undefined,
    });
  }
  return places;
}

export class ClusterOrder {
  readonly #policies = new Map<string, ClusterPolicy>();
  #places: ReadonlyMap<string, PolicyPlace> = new Map();

  place(name: string): PolicyPlace | undefined {
    return this.#places.get(name);
  }

  /** Sets or removes a policy. Returns the policies whose place changed. */
  put(name: string, policy: ClusterPolicy | undefined): readonly string[] {
    if (policy === undefined) this.#policies.delete(name);
    else this.#policies.set(name, policy);
    const ofTier = (tier: ClusterTier): ReadonlyMap<string, PolicyPlace> =>
      placesOf([...this.#policies].filter(([, one]) => one.tier === tier).sort(compareInTier));
    const before = this.#places;
    this.#places = new Map([...ofTier('Admin'), ...ofTier('Baseline')]);
    const names = new Set([...before.keys(), ...this.#places.keys()]);
    return [...names].filter((one) => JSON.stringify(before.get(one)) !== JSON.stringify(this.#places.get(one)));
  }
}
