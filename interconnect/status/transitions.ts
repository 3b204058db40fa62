/** Paths whose state changed, for the log. */
import type { RemoteView } from '../settle/remotes.ts';

export interface Transition {
  readonly cluster: string;
  /** Logical switch. */
  readonly path: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

export class Transitions {
  readonly #known = new Map<string, ReadonlyMap<string, string>>();

  /** Changes of the named clusters. The first state of a path is no change. */
  take(names: Iterable<string>, remotes: RemoteView): readonly Transition[] {
    const transitions: Transition[] = [];
    for (const cluster of names) {
      const verdicts = remotes.get(cluster)?.verdicts;
      const before = this.#known.get(cluster);
      if (verdicts === undefined) this.#known.delete(cluster);
      else this.#known.set(cluster, new Map(verdicts.map((verdict) => [verdict.switch, verdict.state])));
      for (const { switch: path, state: to, reason } of verdicts ?? []) {
        const from = before?.get(path);
        if (from !== undefined && from !== to) transitions.push({ cluster, path, from, to, reason });
      }
    }
    return transitions;
  }
}
