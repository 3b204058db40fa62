/**
 * Whether OVN on this node knows by BFD which other nodes are alive. In: the tunnels on which BFD is up. Out: a node that returns does not know it
 * until the sessions to all others had time to come up. A session that goes down says that a node is dead, and needs no time.
 */
const startMs = 5000;

export class WatchedTunnels {
  #up: ReadonlySet<string> | undefined;
  #cameUpMs = Number.NEGATIVE_INFINITY;

  /** Those of the first call may be up for long. */
  set(up: ReadonlySet<string>, nowMs: number): void {
    const before = this.#up;
    if (before !== undefined && [...up].some((tunnel) => !before.has(tunnel))) this.#cameUpMs = nowMs;
    this.#up = up;
  }

  isStarting(nowMs: number): boolean {
    return nowMs < this.#cameUpMs + startMs;
  }
}
