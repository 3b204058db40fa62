/**
 * Statuses that were sent and that the watch has not delivered yet. In: written statuses, and each version of an object that
 * the watch delivers. Out: the status that an object has, or will have once the write is done. Without it, an older version
 * that arrives after a newer status was sent would look like the loss of that status, which would be written again, with
 * another event and another transition time.
 */
import { isSameJson } from './compare.ts';

export type Status = Readonly<Record<string, unknown>>;

/** An object as the watch has it: only its uid counts, and the part of its status that is written here. */
export interface Present {
  readonly uid: string;
  readonly status: Status;
}

interface Entry {
  readonly status: Status;
  /** Uid of the object it was sent to; undefined while that is being created. */
  readonly uid: string | undefined;
  /** Earlier statuses of the object, which the watch may still bring. */
  readonly older: readonly Status[];
}

export class Sent {
  readonly #entries = new Map<string, Entry>();

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): Status | undefined {
    return this.#entries.get(key)?.status;
  }

  set(
    key: string,
    status: Status,
    { before, uid }: { readonly before: Status; readonly uid: string | undefined },
  ): void {
    const earlier = (this.#entries.get(key)?.older ?? []).filter((one) => !isSameJson(one, before));
    const older = [...earlier, before].filter((one) => !isSameJson(one, status));
    this.#entries.set(key, { status, uid, older });
  }

  /** The watch has brought a version of the object; undefined: it is gone. */
  seen(key: string, present: Present | undefined): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const isOther = entry.uid !== undefined && entry.uid !== present?.uid;
    const isOlder = present !== undefined && !isOther && entry.older.some((one) => isSameJson(one, present.status));
    if (isOlder) this.#entries.set(key, { ...entry, uid: present.uid });
    else this.#entries.delete(key);
  }

  /** The write was not done, or the object is to go. */
  forget(key: string, status?: Status): void {
    if (status === undefined || this.get(key) === status) this.#entries.delete(key);
  }
}
