/**
 * The exports of the other clusters in the namespaces of this one, by the hub's updates. In: updates. Out: the exports by cluster
 * and by Service, and the Services that changed. They stay when a session is lost; those of a cluster that the hub
 * does not know yet, because it has started again, stay until it does.
 */
import { changed as afterChange, changeOf, exportKey } from '../model/export-change.ts';
import type { ExportUpdate, MemberExports, SharedAnswer } from '../model/export-messages.ts';
import type { ExportedService, ExportedServices } from '../model/exported-service.ts';
import type { Rejection } from '../model/messages.ts';

const none: ReadonlyMap<string, ExportedService> = new Map();

export class RemoteExports {
  readonly #clusters = new Map<string, Map<string, ExportedService>>();
  readonly #services = new Map<string, Map<string, ExportedService>>();
  /** Cluster → exports that no update has mentioned since the session began. */
  readonly #unmentioned = new Map<string, Set<string>>();
  #expected: Set<string> = new Set();
  /** Clusters that the hub expects, or has expected, and whose exports this process has never had in full. */
  #unknown: Set<string> = new Set();
  #dirty = new Set<string>();
  #rejections: readonly Rejection[] = [];
  /** Export → the code of a rejection that the hub does not list. */
  #unlisted: ReadonlyMap<string, string> = new Map();
  #isComplete = false;
  /** Service of this cluster → the answer to its claim. */
  readonly #answers = new Map<string, SharedAnswer>();

  /**
   * Returns the Services, `namespace/name`, whose exports changed; undefined if the update builds on something that this
   * cluster does not have: the session then has to begin again.
   */
  apply(update: ExportUpdate): ReadonlySet<string> | undefined {
    const changed = new Set<string>();
    if (update.begins) {
      for (const [cluster, exports] of this.#clusters) this.#unmentioned.set(cluster, new Set(exports.keys()));
      this.#expected = new Set(update.expected);
      // What a complete session before has sent of others is still known.
      if (!this.#isComplete) for (const cluster of update.expected) this.#unknown.add(cluster);
    }
    const isSound = update.members.every((member) => this.#applyMember(member, changed));
    for (const cluster of update.known) this.#expected.delete(cluster);
    if (update.isComplete && isSound) {
      this.#isComplete = true;
      this.#unknown = this.#unknown.intersection(this.#expected);
      this.#removeUnmentioned(changed);
    }
    if (update.rejections !== null) {
      const { rejections, unlisted = [] } = update.rejections;
      this.#rejections = rejections;
      this.#unlisted = new Map(unlisted.flatMap(({ code, exports }) => exports.map((key) => [key, code] as const)));
    }
    for (const answer of update.shared ?? []) this.#answers.set(answer.service, answer);
    for (const key of changed) this.#dirty.add(key);
    return isSound ? changed : undefined;
  }

  /** This cluster is not a member any more. */
  reset(): void {
    for (const key of this.#services.keys()) this.#dirty.add(key);
    for (const map of [this.#clusters, this.#services, this.#unmentioned, this.#answers]) map.clear();
    this.#expected = new Set();
    this.#unknown = new Set();
    this.#rejections = [];
    this.#unlisted = new Map();
    this.#isComplete = false;
  }

  /** False until the hub has sent all that it knows: nothing may be concluded from an export that is absent. */
  get isComplete(): boolean {
    return this.#isComplete;
  }
  /** Cluster → its exports. */
  get clusters(): ReadonlyMap<string, ExportedServices> {
    return this.#clusters;
  }
  /** Every Service that another cluster exports, `namespace/name`. */
  services(): MapIterator<string> {
    return this.#services.keys();
  }
  /** Cluster → its export of this Service, `namespace/name`. */
  of(service: string): ReadonlyMap<string, ExportedService> {
    return this.#services.get(service) ?? none;
  }
  /** Clusters whose exports the hub does not know yet. Those known here from earlier stay in `clusters`. */
  get expected(): ReadonlySet<string> {
    return this.#expected;
  }
  /** Clusters of which only a part of the exports may be known, or nothing: they may export more. */
  get unknown(): ReadonlySet<string> {
    return this.#unknown;
  }
  /** Parts of this cluster's exports that the hub refused; `value` is the Service, `namespace/name`. */
  get rejections(): readonly Rejection[] {
    return this.#rejections;
  }

  /** What the hub refuses of an export of this cluster: `namespace/name`. */
  rejectionsOf(key: string): readonly Pick<Rejection, 'code' | 'message'>[] {
    const listed = this.#rejections.filter(({ kind, value }) => kind === 'export' && value === key);
    const code = this.#unlisted.get(key);
    if (code === undefined) return listed;
    return [...listed, { code, message: 'the hub refuses it, as others, whose conditions have the reason' }];
  }

  /** The last answer to the claim of a Service of this cluster, `namespace/name`; it stays when a session is lost. */
  answerTo(key: string): SharedAnswer | undefined {
    return this.#answers.get(key);
  }

  /** The Service claims no address any more. */
  forgetAnswer(key: string): void {
    this.#answers.delete(key);
  }

  /** Services whose exports changed since the last call. */
  takeDirty(): ReadonlySet<string> {
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  #applyMember({ member, changed: changes, removed }: MemberExports, changed: Set<string>): boolean {
    const known = (key: string): ExportedService | undefined => this.#clusters.get(member)?.get(key);
    const unmentioned = this.#unmentioned.get(member);
    for (const change of changes) {
      const key = exportKey(change);
      // The exports of an earlier session are no base of a change.
      const base = unmentioned?.has(key) === true ? undefined : known(key);
      const service = afterChange(base, change);
      if (service === undefined) return false;
      unmentioned?.delete(key);
      if (changeOf(known(key), service) === undefined) continue;
      this.#set(member, key, service);
      changed.add(key);
    }
    for (const key of removed) {
      unmentioned?.delete(key);
      if (this.#delete(member, key)) changed.add(key);
    }
    return true;
  }

  #removeUnmentioned(changed: Set<string>): void {
    for (const [cluster, keys] of this.#unmentioned) {
      if (this.#expected.has(cluster)) continue;
      this.#unmentioned.delete(cluster);
      for (const key of keys) if (this.#delete(cluster, key)) changed.add(key);
    }
  }

  #set(cluster: string, key: string, service: ExportedService): void {
    getOrMake(this.#clusters, cluster).set(key, service);
    getOrMake(this.#services, key).set(cluster, service);
  }

  #delete(cluster: string, key: string): boolean {
    const exports = this.#clusters.get(cluster);
    const isGone = exports?.delete(key) === true;
    if (exports?.size === 0) this.#clusters.delete(cluster);
    const clusters = this.#services.get(key);
    clusters?.delete(cluster);
    if (clusters?.size === 0) this.#services.delete(key);
    return isGone;
  }
}

function getOrMake(maps: Map<string, Map<string, ExportedService>>, key: string): Map<string, ExportedService> {
  const map = maps.get(key) ?? new Map<string, ExportedService>();
  maps.set(key, map);
  return map;
}
