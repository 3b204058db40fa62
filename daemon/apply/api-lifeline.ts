/**
 * Withholds learned routes over which the node has lost the API server: the node must repair this itself, because no other program reaches it. A detour,
 * a host route over the route that the node had before, tells a bad route from an API server that is down. Only if the API server answers
 * over the detour and not over the learned route, the learned route is withheld, until its router announces it differently.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { MultipathRoute } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { LearnedDetour } from '../host/learned-detour.ts';
import { hopKey, prefixOf, WithheldRoutes } from '../settle/withheld-routes.ts';

export interface ApiLifelineOptions {
  readonly detour: Pick<LearnedDetour, 'all' | 'leadingTo' | 'wouldLeadTo' | 'begin' | 'end' | 'restore' | 'clear'>;
  /** Known addresses, and whether they are all. */
  readonly servers: { readonly all: readonly string[]; readonly isComplete: boolean };
  /** Whether the API server answers over any connection, existing or new. */
  readonly isWell: () => Promise<boolean>;
  /** Whether it answers over a new connection; false after some seconds. */
  readonly isReached: () => Promise<boolean>;
  readonly log: Pick<Logger, 'warn'>;
  readonly nowMs: () => number;
}

const everyMs = 4000;
/** Time between trials that remove learned routes, which other traffic may need. */
const blindTrialMs = { base: 60_000, most: 900_000 } as const;

export class ApiLifeline {
  readonly #options: ApiLifelineOptions;
  readonly #withheld = new WithheldRoutes();
  /** Whether routes were withheld before all addresses of API servers were known. */
  #isTooMuch = false;
  #blindTrials = 0;
  #nextBlindMs = 0;
  /** Whether the kernel may have detours of an earlier run, or of a trial that failed half way. */
  #hasDetours = true;
  /** Routes that a trial removed and that must be restored. */
  #taken: readonly MultipathRoute[] = [];
  /** The last refusal of the kernel, so that each is logged once. */
  #refusal: string | undefined;
  /** Keys that routers announce. */
  #announced: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: ApiLifelineOptions) {
    this.#options = options;
  }

  /** Keys of the prefixes and next hops that must not become routes. */
  get withheld(): ReadonlySet<string> {
    return this.#withheld.keys;
  }

  /** Called after a change of `withheld`. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Sets all prefixes and next hops that routers announce. */
  learned(keys: ReadonlySet<string>): void {
    this.#announced = keys;
    clearTimeout(this.#timer);
    const before = this.#withheld.size;
    const againMs = this.#withheld.forget(keys, this.#options.nowMs());
    if (againMs !== undefined) this.#timer = setTimeout(() => this.learned(this.#announced), againMs).unref();
    if (this.#withheld.size !== before) this.#notify();
  }

  /** Checks again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    clearTimeout(this.#timer);
  }

  /** Checks once. A refusal of the kernel, for example while an uplink goes down, is logged, and the next check tries again. */
  async look(): Promise<void> {
    try {
      await this.#tidy();
      await this.#try();
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      this.#logRefusal(error);
    }
  }

  /** Removes what an earlier trial left behind first, because it would falsify the result. */
  async #tidy(): Promise<void> {
    const { detour, servers } = this.#options;
    if (this.#hasDetours) await detour.clear();
    this.#hasDetours = false;
    // Once the cluster is known, the plan of learned routes restores them.
    if (servers.isComplete) this.#taken = [];
    else await this.#restore();
  }

  async #try(): Promise<void> {
    const { detour, servers, isWell, isReached } = this.#options;
    if (servers.isComplete) await this.#narrow();
    const suspects = servers.isComplete ? await detour.leadingTo(servers.all) : await detour.all();
    if (suspects.length === 0 || (await isWell()) || (await isReached())) return;
    if (servers.isComplete) await this.#tryDetour(suspects);
    else await this.#tryWithout(suspects);
  }

  async #tryDetour(suspects: readonly MultipathRoute[]): Promise<void> {
    const { detour, servers, isReached } = this.#options;
    this.#hasDetours = true;
    const way = await detour.begin(servers.all);
    this.#refusal = undefined;
    try {
      if (way.length > 0 && (await isReached())) await this.#withhold(suspects);
    } finally {
      await detour.end(way);
    }
    this.#hasDetours = false;
  }

  /** Without the addresses of the API servers there can be no detour to them. */
  async #tryWithout(suspects: readonly MultipathRoute[]): Promise<void> {
    const { detour, servers, isReached, nowMs } = this.#options;
    if (nowMs() < this.#nextBlindMs) return;
    this.#taken = [...this.#taken, ...suspects];
    await detour.end(suspects);
    if (await isReached()) {
      this.#taken = [];
      await this.#withhold(suspects);
      this.#isTooMuch = !servers.isComplete;
      return;
    }
    await this.#restore();
    this.#blindTrials += 1;
    this.#nextBlindMs = nowMs() + Math.min(blindTrialMs.base * 2 ** (this.#blindTrials - 1), blindTrialMs.most);
  }

  async #restore(): Promise<void> {
    if (this.#taken.length === 0) return;
    const refused = await this.#options.detour.restore(this.#taken);
    this.#taken = refused.map(({ route }) => route);
    const [first] = refused;
    if (first === undefined) this.#refusal = undefined;
    else this.#logRefusal(first.error);
  }

  #logRefusal({ code, message }: NetlinkError): void {
    if (this.#refusal === message) return;
    this.#refusal = message;
    const what = 'while the daemon looked for a way to the API server without learned routes';
    this.#options.log.warn(
      { code },
      `the kernel refused ${message}, ${what}; the daemon retries in ${everyMs / 1000} s`,
    );
  }

  async #withhold(routes: readonly MultipathRoute[]): Promise<void> {
    const { detour, nowMs, log } = this.#options;
    this.#withheld.add(routes.flatMap(keysOf), nowMs());
    const prefixes = routes.map(({ destination }) => destination);
    log.warn(
      { prefixes },
      'the API server was unreachable through learned routes, and is reachable without them; the routes are withheld',
    );
    // If the kernel refuses to remove a route here, the plan of learned routes removes it.
    try {
      await detour.end(routes);
    } finally {
      this.#notify();
    }
  }

  /** Once all addresses are known: of the routes withheld before, only those that lead to an API server stay withheld. */
  async #narrow(): Promise<void> {
    if (!this.#isTooMuch) return;
    this.#isTooMuch = false;
    const { detour, servers } = this.#options;
    const prefixes = [...this.#withheld.keys].map(prefixOf);
    const meant = await detour.wouldLeadTo(servers.all, prefixes);
    this.#withheld.narrow((key) => meant.has(prefixOf(key)));
    this.#notify();
  }
}

function keysOf({ destination, hops }: MultipathRoute): readonly string[] {
  return hops.flatMap(({ gateway }) => (gateway === undefined ? [] : [hopKey(destination, gateway)]));
}
