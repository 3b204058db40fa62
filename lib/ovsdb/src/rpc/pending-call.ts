import { OvsdbTimeout } from '../errors.ts';

export interface CallOptions<T> {
  readonly signal?: AbortSignal | undefined;
  /** Default 30 000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Takes the result in at the moment it arrives, before any later message is looked at. */
  readonly take: (result: unknown) => T;
}

const defaultTimeoutMs = 30_000;

/** A request that waits for its reply. The first result counts; `onSettled` is called once. */
export class PendingCall<T> {
  readonly method: string;
  readonly promise: Promise<T>;
  readonly #options: CallOptions<T>;
  readonly #onSettled: (gaveUp: boolean) => void;
  readonly #settlers: PromiseWithResolvers<T>;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort: () => void;

  /** `peer` names the server in messages; `gaveUp` is true if no reply was awaited any longer. */
  constructor(method: string, peer: string, options: CallOptions<T>, onSettled: (gaveUp: boolean) => void) {
    this.method = method;
    this.#options = options;
    this.#onSettled = onSettled;
    this.#settlers = Promise.withResolvers<T>();
    this.promise = this.#settlers.promise;
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#timer = setTimeout(() => {
      this.#giveUp(new OvsdbTimeout(`no reply to ${method} from ${peer} within ${timeoutMs} ms`));
    }, timeoutMs);
    this.#onAbort = () => this.#giveUp(options.signal?.reason);
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** @throws what taking the result in threw; the caller of the request gets it too. */
  take(result: unknown): void {
    this.#settle(false);
    try {
      this.#settlers.resolve(this.#options.take(result));
    } catch (error) {
      this.#settlers.reject(error);
      throw error;
    }
  }

  fail(error: Error): void {
    this.#settle(false);
    this.#settlers.reject(error);
  }

  #giveUp(reason: unknown): void {
    this.#settle(true);
    this.#settlers.reject(reason);
  }

  #settle(gaveUp: boolean): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#onSettled(gaveUp);
  }
}
