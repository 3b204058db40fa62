export interface Probed {
  /** Sends something the peer must answer. */
  ask(): void;
  /** The peer was silent for the interval, asked, and silent for as long again. */
  onSilence(): void;
}

/** Watches for silence on a connection. `heard` is to be called at every byte that comes. */
export class Probe {
  readonly #intervalMs: number;
  readonly #peer: Probed;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Immediate | undefined;
  #heard = false;
  #asked = false;

  constructor(intervalMs: number, peer: Probed) {
    this.#intervalMs = intervalMs;
    this.#peer = peer;
    if (intervalMs > 0) this.#wait();
  }

  heard(): void {
    this.#heard = true;
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#check);
  }

  #wait(): void {
    // After a stall of this process the timer comes before the bytes that arrived meanwhile: look once those are read.
    this.#timer = setTimeout(() => {
      this.#check = setImmediate(() => this.#look());
    }, this.#intervalMs);
  }

  #look(): void {
    if (!this.#heard && this.#asked) {
      this.#peer.onSilence();
      return;
    }
    this.#asked = !this.#heard;
    if (this.#asked) this.#peer.ask();
    this.#heard = false;
    this.#wait();
  }
}
