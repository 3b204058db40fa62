// After a restart, gobgpd withholds routes from reconnected neighbours until all neighbours have reconnected, or for a second. It answers a requested
// route refresh immediately, but a withdrawal in that time would never reach the neighbour. Changes therefore wait until gobgpd sends updates again.
import type { ObservedSession } from '../model/observed.ts';

export class Release {
  /** Neighbours that were sent all routes but do not receive changes yet. */
  #released: ReadonlySet<string> = new Set();

  /** Whether changes have to wait. */
  get isGoingOn(): boolean {
    return this.#released.size > 0;
  }

  /** Returns the reconnected neighbours to which all routes must be sent. */
  look(sessions: ReadonlyMap<string, ObservedSession>): readonly string[] {
    const deferring = [...sessions].filter(([, { isDeferring }]) => isDeferring).map(([address]) => address);
    const before = this.#released;
    this.#released = new Set(deferring);
    return deferring.filter((address) => !before.has(address));
  }
}
