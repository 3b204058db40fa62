/** Keeps the plan of the routes to other clusters while nothing that it depends on changes: there may be thousands of prefixes. */
import { isDeepStrictEqual } from 'node:util';
import { planForwarding, type Forwarding, type ForwardingFacts } from '../plan/forwarding.ts';

export class ForwardingPlan {
  #last: { readonly facts: ForwardingFacts; readonly plan: Forwarding } | undefined;

  /** Lists of prefixes that are the same values as before are not looked into. */
  of(facts: ForwardingFacts): Forwarding {
    if (!isDeepStrictEqual(facts, this.#last?.facts)) this.#last = undefined;
    this.#last ??= { facts, plan: planForwarding(facts) };
    return this.#last.plan;
  }
}
