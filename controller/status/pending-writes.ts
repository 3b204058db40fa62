/**
 * Keeps each write to Kubernetes from being sent twice. In: what to write to an object, and the version in which the object
 * was observed. Out: one write. The same write is not repeated until the watch has delivered its result. The caller
 * compares with the observed object first: this class only bridges the time between a write and its watch event.
 */
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { ObjectWriter, WriteOutcome } from '../../lib/kube/writer.ts';
import type { View } from '../model/view.ts';

interface Written {
  readonly content: string;
  /** Undefined while in flight. */
  readonly version: string | undefined;
  /** Requests the write again, for a newer version of the object. Set when the same write is requested while in flight. */
  again?: () => void;
}

/** Kubernetes promises only that versions can be compared for equality, but numeric versions of one object do grow. */
function isBefore(observed: string | undefined, written: string | undefined): boolean {
  if (observed === undefined || written === undefined) return true;
  return /^\d+$/.test(observed) && /^\d+$/.test(written) && BigInt(observed) < BigInt(written);
}

/** The newest observed version of the object with this write key; undefined if it is unknown. */
export type VersionOf = (key: string) => string | undefined;

/** Known for kinds with thousands of objects. Writes to other kinds are remembered until the object is gone. */
export function versionOf(view: Pick<View, 'pods' | 'ips'>, key: string): string | undefined {
  const slash = key.indexOf('/');
  const [kind, name] = [key.slice(0, slash), key.slice(slash + 1)];
  if (kind === 'Pod') return view.pods.get(name)?.resourceVersion;
  return kind === 'IP' ? view.ips.get(name)?.resourceVersion : undefined;
}

/** A sweep of fewer entries than this is not worth its time. */
const leastSweep = 256;

export class PendingWrites {
  readonly #writer: ObjectWriter;
  readonly #versionOf: VersionOf;
  readonly #written = new Map<string, Written>();
  /** Writes done since the last sweep, and the number of them that starts the next one. */
  #done = 0;
  #sweepAt = leastSweep;

  constructor(writer: ObjectWriter, versionOf: VersionOf = () => undefined) {
    this.#writer = writer;
    this.#versionOf = versionOf;
  }

  /** Sends `write` to the object `key`, observed in version `observed`. `content` is any value that identifies the write. */
  write(
    key: string,
    observed: string | undefined,
    content: unknown,
    write: () => Promise<RawObject | void>,
    done?: () => void,
  ): void {
    const text = JSON.stringify(content);
    const last = this.#written.get(key);
    if (last?.content === text && last.version === undefined) {
      last.again = () => this.write(key, observed, content, write, done);
      return;
    }
    if (last?.content === text && isBefore(observed, last.version)) return;
    const entry: Written = { content: text, version: undefined };
    this.#written.set(key, entry);
    let version = '';
    const run = async (): Promise<void> => {
      version = (await write())?.metadata.resourceVersion ?? '';
    };
    void this.#settle(key, entry, this.#writer.enqueue(key, run), () => {
      this.#written.set(key, { content: text, version });
      this.#done += 1;
      if (this.#done >= this.#sweepAt) this.#sweep();
      done?.();
    });
  }

  /** Forgets writes whose results were observed. The cost is proportional to the writes since the last sweep. */
  #sweep(): void {
    for (const [key, { version }] of this.#written)
      if (version !== undefined && !isBefore(this.#versionOf(key), version)) this.#written.delete(key);
    this.#done = 0;
    this.#sweepAt = Math.max(leastSweep, this.#written.size);
  }

  async #settle(key: string, entry: Written, write: Promise<WriteOutcome>, done: () => void): Promise<void> {
    const outcome = await write;
    if (this.#written.get(key) !== entry) return;
    // A refused write is planned again when the object changes. After a conflict, that change may have been observed already.
    if (outcome instanceof KubeApiError) {
      this.#written.delete(key);
      entry.again?.();
    } else if (outcome === 'written') done();
  }

  /** Drops all that was written to an object that is gone. */
  forget(key: string): void {
    this.#written.delete(key);
    this.#writer.cancel(key);
  }
}
