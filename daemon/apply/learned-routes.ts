/**
 * What the node's speaker learned → plan → the kernel. In: a call of `changed` after any fact changed. Out: what is left
 * out, as `problems`. Beside `node.ts`, because a withdrawn prefix shall wait for nothing else of the node.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostLoop } from '../host/loop.ts';
import { planLearnedRoutes, type LearnedInput } from '../plan/learned-routes.ts';
import type { LearnedRoute } from '../model/bgp-node-state.ts';

export interface LearnedRoutesOptions {
  readonly host: Pick<HostLoop<readonly LearnedRoute[]>, 'set' | 'problems'>;
  readonly input: () => LearnedInput;
}

export class LearnedRoutes {
  readonly #options: LearnedRoutesOptions;
  #planned: readonly Problem[] = [];
  /** Asked for last: most changes of the facts are none of the routes. */
  #asked = '';
  #pending: NodeJS.Immediate | undefined;

  constructor(options: LearnedRoutesOptions) {
    this.#options = options;
  }

  /** What cannot be routed, by the last plan and by the kernel. */
  get problems(): readonly Problem[] {
    return [...this.#planned, ...(this.#options.host.problems ?? [])];
  }

  /** To be called after any fact changed; a burst of changes is one refresh. */
  changed(): void {
    this.#pending ??= setImmediate(() => this.refresh());
  }

  /** Plans everything anew; what agrees already is not written. */
  refresh(): void {
    clearImmediate(this.#pending);
    this.#pending = undefined;
    const { routes, problems } = planLearnedRoutes(this.#options.input());
    this.#planned = problems;
    const asked = JSON.stringify(routes);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#options.host.set(routes);
  }
}
