/**
 * Writes to Kubernetes, each once. In: what an object should hold and the version it was seen in. Out: a write,
 * unless the same was written already and its echo has not come back. Rule: whoever asks has compared with what
 * is observed; this only bridges the time between a write and its echo, and forgets a write whose echo was seen.
 */
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { ObjectWriter, WriteOutcome } from '../../lib/kube/writer.ts';
import type { View } from '../model/view.ts';

interface Written {
  readonly content: string;
  /** Undefined while in flight. */
  readonly version: string | undefined;
  /** The same asked for once more while in flight, of a newer version: what to do if this write is refused. */
  again?: () => void;
}

/** Versions are to be compared for equality only, but those of one object that are numbers do grow. */
function isBefore(observed: string | undefined, written: string | undefined): boolean {
  if (observed === undefined || written === undefined) return true;
  return /^\d+$/.test(observed) && /^\d+$/.test(written) && BigInt(observed) < BigInt(written);
}

/** The version in which an object was seen last, by its key here; undefined where it is not known. */
export type VersionOf = (key: string) => string | undefined;

/** Of the objects that come by the thousand; what was written to others is remembered. */
export function versionOf(view: Pick<View, 'pods' | 'ips'>, key: string): string | undefined {
  const slash = key.indexOf('/');
  const [kind, name] = [key.slice(0, slash), key.slice(slash + 1)];
  if (kind === 'Pod') return view.pods.get(name)?.resourceVersion;
  return kind === 'IP' ? view.ips.get(name)?.resourceVersion : undefined;
}

/** Fewer than this are not worth a look. */
const leastSweep = 256;

export class Told {
  readonly #writer: ObjectWriter;
  readonly #versionOf: VersionOf;
  readonly #written = new Map<string, Written>();
  /** Writes done since those that were echoed were looked for, and after how many it is time again. */
  #done = 0;
  #sweepAt = leastSweep;

  constructor(writer: ObjectWriter, versionOf: VersionOf = () => undefined) {
    this.#writer = writer;
    this.#versionOf = versionOf;
  }

  /** Writes `content` (anything that names what is written) to the object `key`, seen in version `observed`. */
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

  /** Each look costs as much as was written since the one before. */
  #sweep(): void {
    for (const [key, { version }] of this.#written)
      if (version !== undefined && !isBefore(this.#versionOf(key), version)) this.#written.delete(key);
    this.#done = 0;
    this.#sweepAt = Math.max(leastSweep, this.#written.size);
  }

  async #settle(key: string, entry: Written, write: Promise<WriteOutcome>, done: () => void): Promise<void> {
    const outcome = await write;
    if (this.#written.get(key) !== entry) return;
    // What was refused is tried again when the object changes; a conflict says it did, and that may have been seen already.
    if (outcome instanceof KubeApiError) {
      this.#written.delete(key);
      entry.again?.();
    } else if (outcome === 'written') done();
  }

  /** The object is gone: nothing that was written to it counts. */
  forget(key: string): void {
    this.#written.delete(key);
    this.#writer.cancel(key);
  }
}
