// A gobgpd that began anew holds routes back from neighbours that are back until all are, or for a second. What is sent on demand it sends
// at once; but of what is withdrawn then, the neighbour would never hear: changes wait until it is told of them again.
import type { GobgpClient } from 'gobgp-js';
import type { ObservedSession } from '../model/observed.ts';

/** gobgpd does not tell when it goes on. */
const lookAgainMs = 100;

export class Release {
  readonly #client: GobgpClient;
  /** Something is to be looked at again, after this time. */
  readonly #wakeAfter: (delayMs: number) => void;
  /** Neighbours that were sent all there is, and are told of no change yet. */
  #released: ReadonlySet<string> = new Set();

  constructor(client: GobgpClient, wakeAfter: (delayMs: number) => void) {
    this.#client = client;
    this.#wakeAfter = wakeAfter;
  }

  /** While it does nothing shall be changed. */
  get isGoingOn(): boolean {
    return this.#released.size > 0;
  }

  /** Sends neighbours that are back what there is. @throws GobgpUnreachable | GobgpRejected */
  async look(sessions: ReadonlyMap<string, ObservedSession>): Promise<void> {
    const deferring = [...sessions].filter(([, { isDeferring }]) => isDeferring).map(([address]) => address);
    const before = this.#released;
    this.#released = new Set(deferring);
    if (deferring.length > 0) this.#wakeAfter(lookAgainMs);
    for (const address of deferring)
      if (!before.has(address)) await this.#client.resetPeer(address, { soft: true, direction: 'out' });
  }
}
