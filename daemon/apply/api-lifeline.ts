/**
 * A node that loses the API server by a learned route frees itself, since no command reaches it. In: the kernel's learned routes
 * and whether the API server answers. Out: routes the node does without, and why. An API server that is down is distinguished from a
 * bad route by a detour: a host route by the way that the node had before. Only if it answers there, and not by the learned
 * route, is the route withheld, until its router announces it otherwise.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { MultipathRoute } from '../../lib/netlink/multipath.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { LearnedDetour } from '../host/learned-detour.ts';
import { hopKey, prefixOf, Withheld } from '../state/withheld.ts';

export interface ApiLifelineOptions {
  readonly detour: Pick<LearnedDetour, 'all' | 'leadingTo' | 'wouldLeadTo' | 'begin' | 'end' | 'restore' | 'clear'>;
  /** Addresses, and whether these are all. */
  readonly servers: { readonly all: readonly string[]; readonly isComplete: boolean };
  /** Over whichever connection there is. */
  readonly isWell: () => Promise<boolean>;
  /** Over a new connection; false after some seconds. */
  readonly isReached: () => Promise<boolean>;
  readonly log: Pick<Logger, 'warn'>;
  readonly nowMs: () => number;
}

const everyMs = 4000;
/** Between trials that take learned routes away, which others may need. */
const blindTrialMs = { base: 60_000, most: 900_000 } as const;

export class ApiLifeline {
  readonly #options: ApiLifelineOptions;
  readonly #withheld = new Withheld();
  /** Whether something was withheld before it was known where all API servers are. */
  #isCoarse = false;
  #blindTrials = 0;
  #nextBlindMs = 0;
  #told: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: ApiLifelineOptions) {
    this.#options = options;
  }

  /** Keys of prefixes and next hops that are to be no routes. */
  get withheld(): ReadonlySet<string> {
    return this.#withheld.keys;
  }

  /** After other routes are withheld than before. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** To be called with all prefixes and next hops that routers announce. */
  learned(keys: ReadonlySet<string>): void {
    this.#told = keys;
    clearTimeout(this.#timer);
    const before = this.#withheld.size;
    const againMs = this.#withheld.forget(keys, this.#options.nowMs());
    if (againMs !== undefined) this.#timer = setTimeout(() => this.learned(this.#told), againMs).unref();
    if (this.#withheld.size !== before) this.#tell();
  }

  /** Looks after it until the signal aborts. @throws NetlinkError */
  async run(signal: AbortSignal): Promise<void> {
    await this.#options.detour.clear();
    while (!signal.aborted) {
      await this.look();
      await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    clearTimeout(this.#timer);
  }

  /** One look. @throws NetlinkError */
  async look(): Promise<void> {
    const { detour, servers, isWell, isReached } = this.#options;
    if (servers.isComplete) await this.#narrow();
    const suspects = servers.isComplete ? await detour.leadingTo(servers.all) : await detour.all();
    if (suspects.length === 0 || (await isWell()) || (await isReached())) return;
    if (servers.isComplete) await this.#tryDetour(suspects);
    else await this.#tryWithout(suspects);
  }

  async #tryDetour(suspects: readonly MultipathRoute[]): Promise<void> {
    const { detour, servers, isReached } = this.#options;
    const way = await detour.begin(servers.all);
    try {
      if (way.length > 0 && (await isReached())) await this.#withhold(suspects);
    } finally {
      await detour.end(way);
    }
  }

  /** Without knowing where the API servers are there is no detour to them. */
  async #tryWithout(suspects: readonly MultipathRoute[]): Promise<void> {
    const { detour, servers, isReached, nowMs } = this.#options;
    if (nowMs() < this.#nextBlindMs) return;
    await detour.end(suspects);
    if (await isReached()) {
      await this.#withhold(suspects);
      this.#isCoarse = !servers.isComplete;
      return;
    }
    await detour.restore(suspects);
    this.#blindTrials += 1;
    this.#nextBlindMs = nowMs() + Math.min(blindTrialMs.base * 2 ** (this.#blindTrials - 1), blindTrialMs.most);
  }

  async #withhold(routes: readonly MultipathRoute[]): Promise<void> {
    const { detour, nowMs, log } = this.#options;
    this.#withheld.add(routes.flatMap(keysOf), nowMs());
    await detour.end(routes);
    const prefixes = routes.map(({ destination }) => destination);
    log.warn({ prefixes }, 'the API server was not reached by learned routes and is without them; they are withheld');
    this.#tell();
  }

  /** Of all that was withheld at the start, what leads to an API server stays withheld. */
  async #narrow(): Promise<void> {
    if (!this.#isCoarse) return;
    this.#isCoarse = false;
    const { detour, servers } = this.#options;
    const prefixes = [...this.#withheld.keys].map(prefixOf);
    const meant = await detour.wouldLeadTo(servers.all, prefixes);
    this.#withheld.narrow((key) => meant.has(prefixOf(key)));
    this.#tell();
  }
}

function keysOf({ destination, hops }: MultipathRoute): readonly string[] {
  return hops.flatMap(({ gateway }) => (gateway === undefined ? [] : [hopKey(destination, gateway)]));
}
