/**
 * What this cluster wants of the pods of others, and the sets that others want of it, as the hub has them by this session and as they are. In: present values. Out:
 * the next message for the hub, with the differences. Used by `apply/membership.ts`, which sends the next message after the answer to the last.
 */
import { chunkSize } from '../model/export-messages.ts';
import {
  podSetChange,
  sizeOfChange,
  type PodReport,
  type PodSet,
  type PodSetChange,
  type WantedSet,
} from '../model/pod-sets.ts';

export class OwnPods {
  #wanted: readonly WantedSet[] | undefined;
  #sets: ReadonlyMap<string, PodSet> = new Map();
  /** As this session has sent them. */
  readonly #sent = new Map<string, PodSet>();
  #sentWanted: string | undefined;
  /** Sets that the hub asks for in this session. */
  #asked: ReadonlySet<string> = new Set();
  #revision = 0;

  /** `sets`: those that are asked for and known. The hub receives nothing before this is called for the first time: an empty list would end what is wanted. */
  set(wanted: readonly WantedSet[], sets: ReadonlyMap<string, PodSet>): void {
    this.#wanted = wanted;
    this.#sets = sets;
  }

  /** Another session has begun: everything is sent again. */
  begin(): void {
    this.#sent.clear();
    this.#sentWanted = undefined;
    this.#asked = new Set();
    this.#revision = 0;
  }

  /** The cluster is not a member any more: nothing is sent until `set` is called again. */
  forget(): void {
    this.begin();
    this.#wanted = undefined;
    this.#sets = new Map();
  }

  /** The hub asks for these sets only, and forgets the others. */
  asked(sets: ReadonlySet<string>): void {
    this.#asked = sets;
    for (const id of this.#sent.keys()) if (!sets.has(id)) this.#sent.delete(id);
  }

  /** Whether the newest list of what this cluster wants was sent in this session. */
  get isWantedSent(): boolean {
    return this.#wanted !== undefined && this.#sentWanted === JSON.stringify(this.#wanted);
  }

  /** Undefined if the hub has everything, or nothing was set yet. */
  next(): PodReport | undefined {
    const wanted = this.#wanted;
    if (wanted === undefined) return undefined;
    const text = JSON.stringify(wanted);
    const isWantedNew = text !== this.#sentWanted;
    const changed = this.#changes();
    if (!isWantedNew && changed.length === 0) return undefined;
    this.#sentWanted = text;
    this.#revision += 1;
    return { revision: this.#revision, wanted: isWantedNew ? { sets: wanted } : null, changed };
  }

  #changes(): readonly PodSetChange[] {
    const changes: PodSetChange[] = [];
    let size = 0;
    for (const [id, set] of this.#sets) {
      if (size >= chunkSize) break;
      if (!this.#asked.has(id)) continue;
      const change = podSetChange(id, this.#sent.get(id), set);
      this.#sent.set(id, set);
      if (change === undefined) continue;
      changes.push(change);
      size += sizeOfChange(change);
    }
    return changes;
  }
}
