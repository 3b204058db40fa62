/** The ADDs that are being served. GC must not touch their interfaces, and a DEL ends the ADD of its interface. */
import type { AttachmentKey } from '../state/sandboxes.ts';
import { CniError, errorCode } from './error.ts';

interface Add {
  /** The host interface that the ADD makes. */
  readonly hostInterface: string;
  readonly end: AbortController;
}

export class PendingAdds {
  readonly #adds = new Map<AttachmentKey, Add>();

  /** Returns a signal that aborts with CniError 11 when a DEL arrives. */
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

  /** A runtime that sends DEL no longer wants the ADD and should not wait for it. */
  giveUp(key: AttachmentKey): void {
    this.#adds
      .get(key)
      ?.end.abort(
        new CniError(errorCode.tryAgainLater, 'the request was abandoned', 'a DEL arrived for the same interface'),
      );
  }
}
