/**
 * What BFD sessions with routers outside say, without the moments in between. In: the rows of the sessions. Out: `setUpstreams` of the settled
 * cluster. Rules: a session is up when it answers for the first time. OVN itself withdraws the routes of one that is down, and restores them; the
 * cluster learns of it only after a while, so that a short interruption changes no rows, and of its return only when it has lasted, so that a
 * router that comes and goes moves packets once. The rows keep what the cluster knows over a restart.
 */
import { realTimers, type Timers } from '../../lib/rounds/timers.ts';
import { changesBetween } from '../../lib/store/map-changes.ts';
import type { UpstreamState } from '../model/settled.ts';
import type { Cluster } from '../settle/cluster.ts';

export interface UpstreamSession {
  /** Absent while it begins, as after a move of the port: OVN keeps its routes, and what was seen before counts. */
  readonly isUp?: boolean;
  /** What a controller took it for when it wrote the row; absent before the first answer. */
  readonly recorded?: 'up' | 'down';
}

export interface UpstreamsOptions {
  readonly cluster: Pick<Cluster, 'setUpstreams'>;
  /** Called when the states that the cluster knows have changed. */
  readonly onChange: () => void;
  readonly timers?: Timers;
}

/** How long a session is down before the cluster learns of it: longer than a node takes to get the port and to begin a session of its own. */
const downMs = 3000;
/** How long a session is up again before the cluster learns of it. */
const upMs = 30_000;

export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #timers: Timers;
  /** Whether each session is up. */
  #sessions: ReadonlyMap<string, boolean> = new Map();
  #known: ReadonlyMap<string, UpstreamState> = new Map();
  /** Since when a session differs from what the cluster knows. */
  readonly #differsSinceMs = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#timers = options.timers ?? realTimers;
  }

  /** Takes the sessions as a former process left them. Call before the first round. */
  restore(sessions: ReadonlyMap<string, UpstreamSession>): void {
    const recorded = [...sessions].flatMap(([key, session]) =>
      session.recorded === undefined ? [] : [[key, session.recorded] as const],
    );
    this.#known = new Map(recorded);
    this.#options.cluster.setUpstreams(this.#known);
    this.set(sessions);
  }

  /** Takes all sessions of now. */
  set(sessions: ReadonlyMap<string, UpstreamSession>): void {
    const before = this.#sessions;
    this.#sessions = new Map(
      [...sessions].map(([key, { isUp, recorded }]) => [key, isUp ?? before.get(key) ?? recorded === 'up']),
    );
    this.#look();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #look(): void {
    if (this.#isClosed) return;
    this.#cancel?.();
    this.#cancel = undefined;
    const now = this.#timers.nowMs();
    const known = new Map<string, UpstreamState>();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [key, isUp] of this.#sessions) {
      const before = this.#known.get(key);
      const after = isUp ? 'up' : 'down';
      const dueMs = this.#dueMs(key, { before, after, now });
      if (dueMs <= now) known.set(key, after);
      else {
        if (before !== undefined) known.set(key, before);
        nextMs = Math.min(nextMs, dueMs);
      }
    }
    for (const key of this.#differsSinceMs.keys()) if (!this.#sessions.has(key)) this.#differsSinceMs.delete(key);
    if (changesBetween(this.#known, known).next().done !== true) {
      this.#known = known;
      this.#options.cluster.setUpstreams(known);
      this.#options.onChange();
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#cancel = this.#timers.after(nextMs - now, () => this.#look());
  }

  /** When the cluster is to know of the state. */
  #dueMs(
    key: string,
    {
      before,
      after,
      now,
    }: { readonly before: UpstreamState | undefined; readonly after: 'up' | 'down'; readonly now: number },
  ): number {
    if (before === undefined) return after === 'up' ? now : Number.POSITIVE_INFINITY;
    if (before === after) {
      this.#differsSinceMs.delete(key);
      return now;
    }
    const sinceMs = this.#differsSinceMs.get(key) ?? now;
    this.#differsSinceMs.set(key, sinceMs);
    return sinceMs + (after === 'up' ? upMs : downMs);
  }
}
