// A gobgpd that began anew holds routes back from neighbours that are back until all are, or for a second. What is sent on demand it sends
// at once; but of what is withdrawn then, the neighbour would never hear: changes wait until it is told of them again.
import type { ObservedSession } from '../model/observed.ts';

export class Release {
  /** Neighbours that were sent all there is, and are told of no change yet. */
  #released: ReadonlySet<string> = new Set();

  /** While it does, nothing shall be changed. */
  get isGoingOn(): boolean {
    return this.#released.size > 0;
  }

  /** Neighbours that are back and have to be sent what there is. */
  look(sessions: ReadonlyMap<string, ObservedSession>): readonly string[] {
    const deferring = [...sessions].filter(([, { isDeferring }]) => isDeferring).map(([address]) => address);
    const before = this.#released;
    this.#released = new Set(deferring);
    return deferring.filter((address) => !before.has(address));
  }
}
