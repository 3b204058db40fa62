/**
 * Finds silent daemons of gateways. In: times of their checks, from the watch. Out: nodes with a silent daemon, and a call
 * when that set changes. A silent watch proves nothing, because the API server may be unreachable: a daemon counts as
 * silent after the API server has confirmed twice, with a pause, that there is no newer check.
 */
import { isKubeError } from '../../lib/kube/errors.ts';
import { interconnectGateways } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { parseGateway } from './objects.ts';

export interface HeartbeatsOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly log: { debug(fields: object, message: string): void };
  readonly onChange: () => void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** The API server is queried after this long without a newer check; a check is due every three seconds. */
export const doubtMs = 5000;
/** A daemon is silent after this many equal answers. */
const answersUntilSilent = 2;
const tickMs = 1000;
const timeoutMs = 3000;

interface Beat {
  readonly checkedAt: string;
  /** When the check arrived, or when the API server last confirmed that there is no newer one. */
  readonly sinceMs: number;
  readonly answers: number;
}

export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #now: () => number;
  readonly #beats = new Map<string, Beat>();
  #isAsking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Node → when its daemon last checked, by its own clock. */
  get silent(): ReadonlyMap<string, string> {
    const silent = [...this.#beats].filter(([, { answers }]) => answers >= answersUntilSilent);
    return new Map(silent.map(([node, { checkedAt }]) => [node, checkedAt]));
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Notes the check in the object of a node; undefined: there is no object, or its daemon has never checked. */
  seen(node: string, checkedAt: string | undefined): void {
    const before = this.#beats.get(node);
    if (before?.checkedAt === checkedAt) return;
    if (checkedAt === undefined) this.#beats.delete(node);
    else this.#beats.set(node, { checkedAt, sinceMs: this.#now(), answers: 0 });
    if ((before?.answers ?? 0) >= answersUntilSilent) this.#options.onChange();
  }

  #tick(): void {
    const nowMs = this.#now();
    const doubtful = [...this.#beats].filter(
      ([, { sinceMs, answers }]) => answers < answersUntilSilent && nowMs - sinceMs >= doubtMs,
    );
    if (doubtful.length > 0 && !this.#isAsking) void this.#ask(doubtful.map(([node]) => node));
  }

  async #ask(nodes: readonly string[]): Promise<void> {
    this.#isAsking = true;
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const objects = await this.#options.client.list(interconnectGateways, { signal });
      const checks = new Map(objects.map((raw) => [raw.metadata.name, parseGateway(raw).checkedAt]));
      for (const node of nodes) this.#answered(node, checks.get(node));
    } catch (error) {
      if (!signal.aborted && !isKubeError(error)) throw error;
      this.#options.log.debug({ err: error }, 'the heartbeats of gateway daemons could not be read');
      for (const node of nodes) this.#unanswered(node);
    } finally {
      this.#isAsking = false;
    }
  }

  #answered(node: string, checkedAt: string | undefined): void {
    const beat = this.#beats.get(node);
    if (beat === undefined || beat.checkedAt !== checkedAt) return this.seen(node, checkedAt);
    const answers = beat.answers + 1;
    this.#beats.set(node, { ...beat, sinceMs: this.#now(), answers });
    if (answers === answersUntilSilent) this.#options.onChange();
  }

  /** Without an answer nothing is known of any daemon: the time begins again. */
  #unanswered(node: string): void {
    const beat = this.#beats.get(node);
    if (beat !== undefined) this.#beats.set(node, { ...beat, sinceMs: this.#now(), answers: 0 });
  }
}
