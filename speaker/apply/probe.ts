/** Makes the kernel check whether neighbours are still present: without traffic, a neighbour that left would stay in the neighbour table. */
import { createSocket } from 'node:dgram';

/** Port of the discard service. */
const discard = 9;
const everyMs = 3000;

export class Probes {
  readonly #timer: NodeJS.Timeout;
  #addresses: readonly string[] = [];

  constructor() {
    this.#timer = setInterval(() => this.#send(), everyMs);
  }

  /** @param addresses link-local addresses with their links; an empty list stops the probes */
  set(addresses: readonly string[]): void {
    this.#addresses = addresses;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #send(): void {
    if (this.#addresses.length === 0) return;
    const socket = createSocket('udp6');
    let left = this.#addresses.length;
    // Sending on a link that was just removed fails; the kernel reports the removal by itself.
    for (const address of this.#addresses)
      socket.send(Buffer.alloc(1), discard, address, () => (left -= 1) === 0 && socket.close());
  }
}
