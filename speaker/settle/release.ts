// After a restart, gobgpd holds back routes from neighbours that have reconnected until all have, or for a second. A route refresh on demand is sent
// at once; but withdrawals in that time would never reach the neighbour, so changes wait until gobgpd sends updates again.
import type { ObservedSession } from '../model/observed.ts';

export class Release {
  /** Neighbours that were sent all routes, and do not get changes yet. */
  #released: ReadonlySet<string> = new Set();

  /** As long as this is so, changes have to wait. */
  get isGoingOn(): boolean {
    return this.#released.size > 0;
  }

  /** Neighbours that have reconnected and have to be sent all routes. */
  look(sessions: ReadonlyMap<string, ObservedSession>): readonly string[] {
    const deferring = [...sessions].filter(([, { isDeferring }]) => isDeferring).map(([address]) => address);
    const before = this.#released;
    this.#released = new Set(deferring);
    return deferring.filter((address) => !before.has(address));
  }
}
