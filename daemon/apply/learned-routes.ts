/**
 * Applies the routes that the speaker of this node learned. It is separate from node-network.ts, so that a withdrawn prefix does not wait
 * for anything else of the node.
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
  /** The routes that were set last: most changes of the input do not change them. */
  #applied = '';
  #pending: NodeJS.Immediate | undefined;

  constructor(options: LearnedRoutesOptions) {
    this.#options = options;
  }

  /** Prefixes without a route, by the last plan and by the kernel. */
  get problems(): readonly Problem[] {
    return [...this.#planned, ...(this.#options.host.problems ?? [])];
  }

  /** To be called after each change of the input; a burst of changes leads to one refresh. */
  changed(): void {
    this.#pending ??= setImmediate(() => this.refresh());
  }

  /** Plans everything again; nothing is written where the kernel agrees. */
  refresh(): void {
    clearImmediate(this.#pending);
    this.#pending = undefined;
    const { routes, problems } = planLearnedRoutes(this.#options.input());
    this.#planned = problems;
    const wanted = JSON.stringify(routes);
    if (wanted === this.#applied) return;
    this.#applied = wanted;
    this.#options.host.set(routes);
  }
}
