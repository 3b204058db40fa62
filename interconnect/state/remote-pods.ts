/**
 * The sets of pods of other clusters, and the sets that others want of this one. In: the hub's updates; at a start, what an earlier process wrote. Out: sets by cluster, and
 * which clusters changed. A set stays until the hub sends it anew, whatever becomes of the session: a cluster that is away keeps its last set.
 */
import { entryOf } from '../../lib/desired/entry-of.ts';
import type { Rejection } from '../model/messages.ts';
import { changedPodSet, type AskedSet, type PodSet, type PodUpdate } from '../model/pod-sets.ts';

export class RemotePods {
  readonly #clusters = new Map<string, Map<string, PodSet>>();
  #asked: readonly AskedSet[] = [];
  #rejections: readonly Rejection[] = [];
  #dirty = new Set<string>();

  /** Sets that the hub asks this cluster for. */
  get asked(): readonly AskedSet[] {
    return this.#asked;
  }
  /** What the hub refused of this cluster. */
  get rejections(): readonly Rejection[] {
    return this.#rejections;
  }

  get(cluster: string, id: string): PodSet | undefined {
    return this.#clusters.get(cluster)?.get(id);
  }

  /** What was received before this process began; a set that the hub has sent since stays. */
  restore(cluster: string, sets: ReadonlyMap<string, PodSet>): void {
    const known = entryOf(this.#clusters, cluster, () => new Map<string, PodSet>());
    for (const [id, set] of sets) if (!known.has(id)) known.set(id, set);
    this.#dirty.add(cluster);
  }

  /** Returns false if the update builds on a set that is not known here. */
  apply({ asked, members, rejections }: PodUpdate): boolean {
    if (asked !== null) this.#asked = asked.sets;
    if (rejections !== null) this.#rejections = rejections.rejections;
    for (const { member, changed, removed } of members) {
      const sets = entryOf(this.#clusters, member, () => new Map<string, PodSet>());
      for (const id of removed) sets.delete(id);
      for (const change of changed) {
        const set = changedPodSet(sets.get(change.id), change);
        if (set === undefined) return false;
        sets.set(change.id, set);
      }
      this.#dirty.add(member);
    }
    return true;
  }

  /** Forgets the sets of a cluster for which `isWanted` is false. */
  keep(isWanted: (cluster: string, id: string) => boolean): void {
    for (const [cluster, sets] of this.#clusters) {
      for (const id of sets.keys()) {
        if (isWanted(cluster, id)) continue;
        sets.delete(id);
        this.#dirty.add(cluster);
      }
      if (sets.size === 0) this.#clusters.delete(cluster);
    }
  }

  /** Clusters whose sets changed since the last call. */
  takeDirty(): ReadonlySet<string> {
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  reset(): void {
    for (const cluster of this.#clusters.keys()) this.#dirty.add(cluster);
    this.#clusters.clear();
    this.#asked = [];
    this.#rejections = [];
  }
}
