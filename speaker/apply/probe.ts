/** Makes the kernel ask neighbours whether they are still there: one that left would stay in its table until something is sent to it. */
import { createSocket } from 'node:dgram';

/** Port of the service discard. */
const discard = 9;
const everyMs = 3000;

export class Probes {
  readonly #timer: NodeJS.Timeout;
  #addresses: readonly string[] = [];

  constructor() {
    this.#timer = setInterval(() => this.#send(), everyMs);
  }

  /** @param addresses link-local ones with their link; none: nobody is in doubt */
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
    // A link that just went away refuses; the kernel tells of that by itself.
    for (const address of this.#addresses)
      socket.send(Buffer.alloc(1), discard, address, () => (left -= 1) === 0 && socket.close());
  }
}
