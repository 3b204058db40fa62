/** Remembers since when each path to each cluster has been up; `paths.ts` decides what follows from it. */
import { noMemory, settlePaths, type PathFacts, type PathMemory, type PathVerdict } from './paths.ts';

interface Known {
  /** By network. */
  readonly memories: ReadonlyMap<string, PathMemory>;
  /** When a path has rested long enough. */
  readonly wakeMs: number;
}

export class PathHistory {
  readonly #clusters = new Map<string, Known>();

  /** Paths of a network that carried traffic before this process began: they need no rest. */
  adopt(cluster: string, network: string, switches: Iterable<string>): void {
    const wellSinceMs = new Map([...switches].map((name) => [name, -Infinity]));
    if (wellSinceMs.size === 0) return;
    const memories = new Map(this.#clusters.get(cluster)?.memories);
    this.#clusters.set(cluster, {
      memories: memories.set(network, { wellSinceMs, upSinceMs: -Infinity, lostMs: undefined }),
      wakeMs: Infinity,
    });
  }

  judge(
    cluster: string,
    facts: readonly PathFacts[],
    time: { readonly nowMs: number; readonly holdDownMs: number },
  ): readonly PathVerdict[] {
    const before = this.#clusters.get(cluster)?.memories;
    const memories = new Map<string, PathMemory>();
    const verdicts: PathVerdict[] = [];
    let wake = Infinity;
    for (const [network, paths] of Map.groupBy(facts, (path) => path.network)) {
      const result = settlePaths(paths, before?.get(network) ?? noMemory, time);
      verdicts.push(...result.verdicts);
      memories.set(network, result.memory);
      wake = Math.min(wake, result.wakeMs ?? Infinity);
    }
    this.#clusters.set(cluster, { memories, wakeMs: wake });
    return verdicts;
  }

  has(cluster: string): boolean {
    return this.#clusters.has(cluster);
  }

  /** The same cluster by another name. */
  rename(before: string, cluster: string): void {
    const known = this.#clusters.get(before);
    if (known === undefined) return;
    this.#clusters.delete(before);
    this.#clusters.set(cluster, known);
  }

  forget(cluster: string): void {
    this.#clusters.delete(cluster);
  }

  clear(): void {
    this.#clusters.clear();
  }

  /** Clusters with a path whose hold-down is over. */
  due(nowMs: number): readonly string[] {
    return [...this.#clusters].flatMap(([cluster, { wakeMs }]) => (wakeMs <= nowMs ? [cluster] : []));
  }

  /** Infinity while none rests. */
  get wakeMs(): number {
    let first = Infinity;
    for (const { wakeMs } of this.#clusters.values()) if (wakeMs < first) first = wakeMs;
    return first;
  }
}
