/** Keeps the plan of each Subnet while nothing that it depends on changes, so that a change of one Subnet plans that one only. */
import { isDeepStrictEqual } from 'node:util';
import type { Subnet } from '../model/subnet.ts';
import { planSubnet, type SubnetFacts, type SubnetPlan } from '../plan/host-network.ts';

export class SubnetPlans {
  #plans = new WeakMap<Subnet, SubnetPlan>();
  #facts: SubnetFacts | undefined;

  of(subnet: Subnet, facts: SubnetFacts): SubnetPlan {
    if (!this.#isSame(facts)) this.#plans = new WeakMap();
    this.#facts = facts;
    const known = this.#plans.get(subnet) ?? planSubnet(subnet, facts);
    this.#plans.set(subnet, known);
    return known;
  }

  /** The facts of one round are one value. */
  #isSame(facts: SubnetFacts): boolean {
    return facts === this.#facts || isDeepStrictEqual(facts, this.#facts);
  }
}
