/** What is said of prefixes that nodes learned and that are no routes: an event on the BgpNodeState, whose status is the speaker's. */
import { apiVersionOf, bgpNodeStates } from '../../lib/kube/resources.ts';
import { learnedProblems } from '../plan/bgp/problems.ts';
import type { Desk } from './desk.ts';

export class BgpNodes {
  readonly #desk: Desk;
  /** Messages told last, by node. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  publish(name: string): void {
    const { view, events } = this.#desk;
    const state = view.bgpNodeStates.get(name);
    const problems = learnedProblems(view, name);
    const before = this.#told.get(name);
    if (state === undefined || problems.length === 0) this.#told.delete(name);
    else this.#told.set(name, new Set(problems.map(({ message }) => message)));
    if (state === undefined) return;
    const subject = { apiVersion: apiVersionOf(bgpNodeStates), kind: bgpNodeStates.kind, name, uid: state.uid };
    for (const { code, message } of problems)
      if (before?.has(message) !== true) events.record(subject, 'Warning', code, message);
  }
}
