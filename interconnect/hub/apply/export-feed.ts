/**
 * The exports that one session is sent. In: the member's namespaces, names of exports that changed. Out: updates, each with
 * the newest values: the next is made once the former has left, so that a slow reader keeps names waiting, not messages.
 * Equal values are not sent.
 */
import type { MemberSession } from '../../link/server.ts';
import {
  chunkSize,
  type ExportRejections,
  type ExportReport,
  type ExportUpdate,
  type MemberExports,
  type SharedAnswer,
} from '../../model/export-messages.ts';
import { exportKey } from '../../model/export-change.ts';
import type { ExportedService } from '../../model/exported-service.ts';
import type { Rejection } from '../../model/messages.ts';
import type { SharedChanges } from '../plan/shared-change.ts';
import { isNamespace } from '../settle/export-form.ts';

/** More than a cluster has. */
const mostNamespaces = 20_000;

/** An export of one member. */
export interface ExportId {
  readonly member: string;
  /** `namespace/name`. */
  readonly key: string;
}

export interface ExportFeedOptions {
  readonly session: MemberSession;
  readonly changes: SharedChanges;
  /** The export as others see it now. */
  readonly find: (id: ExportId) => ExportedService | undefined;
  /** Of the exports of this member. */
  readonly rejections: () => ExportRejections;
  /** To the claim of this member for a Service, `namespace/name`; undefined without one. */
  readonly answerTo: (key: string) => SharedAnswer | undefined;
}

export class ExportFeed {
  readonly #options: ExportFeedOptions;
  readonly #namespaces = new Set<string>();
  /** By member and key. */
  readonly #sent = new Map<string, ExportedService>();
  readonly #dirty = new Map<string, ExportId>();
  readonly #wanted = new Set<string>();
  /** Services to whose claims the answer may be another one. */
  readonly #claimed = new Set<string>();
  /** Service → the answer that was sent, as text. */
  readonly #answers = new Map<string, string>();
  readonly #known = new Set<string>();
  /** Members whose exports were not known when the session began, and are not since. */
  readonly #expected = new Set<string>();
  #refusedNamespaces = 0;
  #rejections: string | undefined;
  #areRejectionsDirty = true;
  #revision = 0;
  #answered = 0;
  #isUnanswered = false;
  #areNamespacesKnown = false;
  #isCompleteSent = false;
  #isWriting = false;
  #isClosed = false;

  constructor(options: ExportFeedOptions) {
    this.#options = options;
  }

  get namespaces(): ReadonlySet<string> {
    return this.#namespaces;
  }

  /** The member has sent a report in this session. */
  get hasBegun(): boolean {
    return this.#revision > 0;
  }

  /** The member is to send its next report after the answer to the last. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  /** Returns the namespaces that are new, and those that are gone. `expected`: members whose exports are not known. */
  read(
    report: ExportReport,
    expected: () => readonly string[],
  ): { added: readonly string[]; removed: readonly string[] } {
    if (!this.hasBegun) for (const member of expected()) this.#expected.add(member);
    this.#revision = report.revision;
    this.#readClaims(report);
    this.#isUnanswered = true;
    this.#areNamespacesKnown ||= report.isComplete;
    const removed = report.namespacesRemoved.filter((name) => this.#namespaces.delete(name));
    const added = report.namespacesAdded.filter((name) => isNamespace(name) && !this.#namespaces.has(name));
    const fitting = added.slice(0, mostNamespaces - this.#namespaces.size);
    for (const name of fitting) this.#namespaces.add(name);
    this.#refusedNamespaces += added.length - fitting.length;
    this.#areRejectionsDirty ||= added.length > fitting.length;
    return { added: fitting, removed };
  }

  /** A member without an address does not know the answer to an earlier claim any more. */
  #readClaims({ changed, removed }: ExportReport): void {
    for (const key of removed) this.#answers.delete(key);
    for (const change of changed) {
      const key = exportKey(change);
      if (change.shared) this.#claimed.add(key);
      if ((change.shared?.held.length ?? 0) === 0) this.#answers.delete(key);
    }
  }

  /** The export may be another one now. */
  changed(id: ExportId): void {
    this.#dirty.set(`${id.member}/${id.key}`, id);
  }

  /** Members whose exports the hub knows now. */
  known(members: Iterable<string>): void {
    for (const member of members) if (this.#expected.delete(member)) this.#known.add(member);
  }

  want(keys: Iterable<string>): void {
    for (const key of keys) this.#wanted.add(key);
  }

  answerChanged(key: string): void {
    this.#claimed.add(key);
  }

  rejectionsChanged(): void {
    this.#areRejectionsDirty = true;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Sends what has changed; where an update is still being written, as soon as it has left. */
  send(): void {
    while (!this.#isWriting && !this.#isClosed && this.hasBegun) {
      const update = this.#next();
      if (update === undefined) return;
      this.#isWriting = true;
      this.#options.session.sendExports(update, () => {
        this.#isWriting = false;
        this.send();
      });
    }
  }

  #next(): ExportUpdate | undefined {
    const members = this.#takeMembers();
    const isComplete = this.#dirty.size === 0 && this.#areNamespacesKnown;
    const rejections = this.#takeRejections();
    const shared = this.#takeAnswers();
    const isNews =
      members.length > 0 ||
      rejections !== null ||
      shared.length > 0 ||
      this.#wanted.size > 0 ||
      this.#revision !== this.#answered ||
      (isComplete && (this.#known.size > 0 || !this.#isCompleteSent));
    if (!isNews) return undefined;
    const begins = this.#answered === 0;
    const known = isComplete ? [...this.#known] : [];
    if (isComplete) this.#known.clear();
    const wanted = [...this.#wanted];
    this.#wanted.clear();
    // One that became known before the first update is both: it is expected until all of its exports were sent.
    const expected = begins ? [...this.#expected, ...this.#known, ...known] : [];
    this.#answered = this.#revision;
    this.#isUnanswered = false;
    this.#isCompleteSent ||= isComplete;
    return { revision: this.#revision, begins, isComplete, members, expected, known, wanted, rejections, shared };
  }

  #takeMembers(): readonly MemberExports[] {
    const members = new Map<string, { changed: MemberExports['changed'][number][]; removed: string[] }>();
    const of = (member: string) => members.get(member) ?? { changed: [], removed: [] };
    let size = 0;
    for (const [text, id] of this.#dirty) {
      if (size >= chunkSize) break;
      this.#dirty.delete(text);
      const { member, key } = id;
      const before = this.#sent.get(text);
      const after = this.#find(id);
      if (before === after) continue;
      if (after === undefined) {
        this.#sent.delete(text);
        const exports = of(member);
        exports.removed.push(key);
        members.set(member, exports);
        size += key.length;
        continue;
      }
      this.#sent.set(text, after);
      const { change, size: changeSize } = this.#options.changes.between(before, after);
      if (change === undefined) continue;
      const exports = of(member);
      exports.changed.push(change);
      members.set(member, exports);
      size += changeSize;
    }
    return Array.from(members, ([member, exports]) => ({ member, ...exports }));
  }

  #find(id: ExportId): ExportedService | undefined {
    const namespace = id.key.slice(0, id.key.indexOf('/'));
    return this.#namespaces.has(namespace) ? this.#options.find(id) : undefined;
  }

  #takeAnswers(): readonly SharedAnswer[] {
    const answers: SharedAnswer[] = [];
    let size = 0;
    for (const key of this.#claimed) {
      if (size >= chunkSize) break;
      this.#claimed.delete(key);
      const answer = this.#options.answerTo(key);
      const text = JSON.stringify(answer);
      if (answer === undefined || this.#answers.get(key) === text) continue;
      this.#answers.set(key, text);
      answers.push(answer);
      size += text.length;
    }
    return answers;
  }

  /** Null if they are those that were sent last. */
  #takeRejections(): ExportUpdate['rejections'] {
    if (!this.#areRejectionsDirty) return null;
    this.#areRejectionsDirty = false;
    const { rejections: listed, unlisted = [] } = this.#options.rejections();
    const rejections = { rejections: [...listed, ...this.#namespaceRejections()], unlisted };
    const text = JSON.stringify(rejections);
    if (text === this.#rejections) return null;
    this.#rejections = text;
    return rejections;
  }

  #namespaceRejections(): readonly Rejection[] {
    if (this.#refusedNamespaces === 0) return [];
    const value = String(this.#refusedNamespaces);
    const message = `${value} namespaces are more than the ${mostNamespaces} that a cluster may have: exports in them are not received`;
    return [{ kind: 'export', value, code: 'MaxNamespaces', message, holder: '', transitSwitch: '' }];
  }
}
