/**
 * Deletes connections of UDP that Open vSwitch tracks from an address of a Service to an endpoint that no longer serves, or to no endpoint although
 * there is one now. For endpoints that are gone, OVN does the same (`ct_flush`) at the moment it changes its flows; but until Open vSwitch has
 * revalidated those that it cached, a client that keeps its port gets the former endpoint again, and stays with it. Therefore it is done again,
 * when the cached flows are certainly gone.
 */
import type { Logger } from '../../lib/run/logger.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import type { Timers } from '../../lib/rounds/timers.ts';
import { goneEndpoints, type GoneEndpoint, switchMatches } from '../plan/services/gone.ts';
import type { FrontendChange } from './services.ts';

export interface SwitchConnectionsOptions {
  /** Deletes the connections with these fields of the original direction and of the reply. */
  readonly flush: (original: string, reply: string) => Promise<void>;
  readonly log: Pick<Logger, 'warn'>;
  readonly timers?: Timers;
}

/** OVN applies a change within a second, and within a few where it is busy with ten thousand Services. */
const delaysMs = [1000, 5000] as const;

interface Pending extends GoneEndpoint {
  /** How often its connections were deleted. */
  times: number;
}

export class SwitchConnections {
  readonly #options: SwitchConnectionsOptions;
  readonly #engine: RoundEngine<string>;
  readonly #gone = new Map<string, Pending>();
  #isFailing = false;

  constructor(options: SwitchConnectionsOptions) {
    this.#options = options;
    const { timers } = options;
    this.#engine = new RoundEngine({ run: ({ keys }) => this.#run(keys), ...(timers && { timers }) });
    this.#engine.start();
  }

  add(changes: readonly FrontendChange[]): void {
    for (const { before, after } of changes) {
      const { gone, served } = goneEndpoints(before, after);
      for (const id of served) this.#gone.delete(id);
      for (const [id, endpoint] of gone) {
        this.#gone.set(id, { ...endpoint, times: 0 });
        this.#engine.wakeAfter(delaysMs[0], id);
      }
    }
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async #run(keys: ReadonlySet<string>): Promise<void> {
    const due = [...keys].flatMap((id) => this.#gone.get(id) ?? []);
    for (const [original, reply] of switchMatches(due)) await this.#flush(original, reply);
    for (const id of keys) {
      const pending = this.#gone.get(id);
      if (pending === undefined) continue;
      pending.times += 1;
      const delayMs = delaysMs[pending.times];
      if (delayMs === undefined) this.#gone.delete(id);
      else this.#engine.wakeAfter(delayMs, id);
    }
  }

  async #flush(original: string, reply: string): Promise<void> {
    const { flush, log } = this.#options;
    try {
      await flush(original, reply);
      this.#isFailing = false;
    } catch (error) {
      // Nothing is lost with ovs-vswitchd down, or an old one: OVN's own deletion remains.
      if (!this.#isFailing)
        log.warn(
          { err: error },
          'UDP connections in Open vSwitch could not be deleted: a client may keep sending to an endpoint that is gone',
        );
      this.#isFailing = true;
    }
  }
}
