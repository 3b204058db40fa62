/** The ADDs that are being served: what GC must leave alone, and what a DEL ends. */
import type { AttachmentKey } from '../state/sandboxes.ts';
import { CniError, errorCode } from './error.ts';

interface Add {
  /** The interface of the node that it makes. */
  readonly hostInterface: string;
  readonly end: AbortController;
}

export class AddsUnderWay {
  readonly #adds = new Map<AttachmentKey, Add>();

  /** Returns what aborts, with a CniError 11, when a DEL comes. */
  begin(key: AttachmentKey, hostInterface: string): AbortSignal {
    const end = new AbortController();
    this.#adds.set(key, { hostInterface, end });
    return end.signal;
  }

  end(key: AttachmentKey): void {
    this.#adds.delete(key);
  }

  has(key: AttachmentKey): boolean {
    return this.#adds.has(key);
  }

  isMaking(hostInterface: string): boolean {
    return this.#adds.values().some((add) => add.hostInterface === hostInterface);
  }

  /** A runtime that sends DEL does not want the ADD any more, and should not have to wait for it. */
  giveUp(key: AttachmentKey): void {
    this.#adds
      .get(key)
      ?.end.abort(new CniError(errorCode.tryAgainLater, 'the request was given up', 'DEL came for the same interface'));
  }
}
