/**
 * Messages that wait to be sent to one member. In: messages as bytes. Out: writes to a stream, until too much waits or
 * nothing was taken for long. No message can be left out, because each holds only changes: the session ends then, and
 * the next one begins with everything.
 */
import { longestUpdate } from './protocol.ts';

const patienceMs = 60_000;

export interface OutboxOptions {
  /** `onTaken` is called once the message has left. */
  readonly write: (bytes: Buffer, onTaken: () => void) => void;
  /** Why the session must end. */
  readonly onStalled: (reason: string) => void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  #waiting = 0;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  send(bytes: Buffer, onTaken?: () => void): void {
    // The longest message fits whatever its size: a member that reads has little before it.
    if (this.#waiting > longestUpdate)
      return this.#options.onStalled(`${this.#waiting} bytes wait to be read by the member`);
    this.#waiting += bytes.length;
    if (this.#timer === undefined) this.#watch();
    this.#options.write(bytes, () => {
      this.#waiting -= bytes.length;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (this.#waiting > 0 && !this.#isClosed) this.#watch();
      onTaken?.();
    });
  }

  /** Waiting messages may still leave; a stall is not reported any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #watch(): void {
    const stalled = (): void => this.#options.onStalled(`the member has read nothing for ${patienceMs / 1000} seconds`);
    this.#timer = setTimeout(stalled, patienceMs);
  }
}
