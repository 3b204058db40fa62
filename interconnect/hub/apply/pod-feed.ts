/**
 * The sets of pods that one session is sent. In: the sets that it is asked for, names of sets that changed. Out: updates, each with the newest values: the next is
 * made once the former has left, so that a slow reader keeps names waiting, not messages. Equal values are not sent.
 */
import type { MemberSession } from '../../link/server.ts';
import { chunkSize } from '../../model/export-messages.ts';
import type { Rejection } from '../../model/messages.ts';
import {
  podSetChange,
  sizeOfChange,
  type AskedSet,
  type MemberPods,
  type PodSet,
  type PodSetChange,
  type PodUpdate,
} from '../../model/pod-sets.ts';

/** A set of one member. */
export interface SetId {
  readonly member: string;
  readonly id: string;
}

export interface PodFeedOptions {
  readonly session: Pick<MemberSession, 'sendPods'>;
  /** The set as the member sees it now; undefined if it does not want it, or if it is not known. */
  readonly find: (set: SetId) => PodSet | undefined;
  /** Whether the set is gone for good: its member has left. */
  readonly isGone: (set: SetId) => boolean;
  /** Sets that the member is asked for. */
  readonly asked: () => readonly AskedSet[];
  /** It is sent another list now. */
  readonly onAsked: () => void;
  readonly rejections: () => readonly Rejection[];
}

function keyOf({ member, id }: SetId): string {
  return `${member} ${id}`;
}

export class PodFeed {
  readonly #options: PodFeedOptions;
  readonly #sent = new Map<string, PodSet>();
  readonly #dirty = new Map<string, SetId>();
  #asked: ReadonlySet<string> = new Set();
  #isAskedDirty = true;
  #rejections = '[]';
  #areRejectionsDirty = true;
  #revision = 0;
  #answered = 0;
  #isUnanswered = false;
  #isWriting = false;
  #isClosed = false;

  constructor(options: PodFeedOptions) {
    this.#options = options;
  }

  /** Sets that the member was asked for in this session. */
  get asked(): ReadonlySet<string> {
    return this.#asked;
  }
  /** The member is to send its next report after the answer to the last. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  read(revision: number): void {
    this.#revision = revision;
    this.#isUnanswered = true;
  }

  /** The set may be another one now. */
  changed(set: SetId): void {
    this.#dirty.set(keyOf(set), set);
  }

  /** The member does not want the set any more, and forgets it: if it wants it again, it is sent the whole. */
  forget(set: SetId): void {
    const key = keyOf(set);
    this.#dirty.delete(key);
    this.#sent.delete(key);
  }

  askedChanged(): void {
    this.#isAskedDirty = true;
  }

  rejectionsChanged(): void {
    this.#areRejectionsDirty = true;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Sends what has changed; where an update is still being written, as soon as it has left. */
  send(): void {
    while (!this.#isWriting && !this.#isClosed && this.#revision > 0) {
      const update = this.#next();
      if (update === undefined) return;
      this.#isWriting = true;
      this.#options.session.sendPods(update, () => {
        this.#isWriting = false;
        this.send();
      });
    }
  }

  #next(): PodUpdate | undefined {
    const members = this.#takeMembers();
    const asked = this.#takeAsked();
    const rejections = this.#takeRejections();
    if (members.length === 0 && asked === null && rejections === null && this.#revision === this.#answered)
      return undefined;
    this.#answered = this.#revision;
    this.#isUnanswered = false;
    return { revision: this.#revision, asked, members, rejections };
  }

  #takeMembers(): readonly MemberPods[] {
    const members = new Map<string, { changed: PodSetChange[]; removed: string[] }>();
    const of = (member: string): { changed: PodSetChange[]; removed: string[] } => {
      const pods = members.get(member) ?? { changed: [], removed: [] };
      members.set(member, pods);
      return pods;
    };
    let size = 0;
    for (const [key, set] of this.#dirty) {
      if (size >= chunkSize) break;
      this.#dirty.delete(key);
      const before = this.#sent.get(key);
      const after = this.#options.find(set);
      if (after === undefined) {
        this.#sent.delete(key);
        if (before !== undefined && this.#options.isGone(set)) of(set.member).removed.push(set.id);
        continue;
      }
      this.#sent.set(key, after);
      const change = podSetChange(set.id, before, after);
      if (change === undefined) continue;
      of(set.member).changed.push(change);
      size += sizeOfChange(change);
    }
    return Array.from(members, ([member, pods]) => ({ member, ...pods }));
  }

  /** Null if the member knows it. */
  #takeAsked(): PodUpdate['asked'] {
    if (!this.#isAskedDirty) return null;
    this.#isAskedDirty = false;
    const sets = this.#options.asked();
    const ids = new Set(sets.map(({ id }) => id));
    if (ids.symmetricDifference(this.#asked).size === 0) return null;
    this.#asked = ids;
    this.#options.onAsked();
    return { sets };
  }

  #takeRejections(): PodUpdate['rejections'] {
    if (!this.#areRejectionsDirty) return null;
    this.#areRejectionsDirty = false;
    const rejections = this.#options.rejections();
    const text = JSON.stringify(rejections);
    if (text === this.#rejections) return null;
    this.#rejections = text;
    return { rejections };
  }
}
