/**
 * A node that loses the API server by a learned route frees itself, since no command reaches it. In: the kernel's learned routes
 * and whether the API server answers. Out: routes the node does without, and why. An API server that is down is distinguished from a
 * bad route by a detour: a host route by the way that the node had before. Only if it answers there, and not by the learned
 * route, is the route withheld, until its router announces it otherwise.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { MultipathRoute } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { LearnedDetour } from '../host/learned-detour.ts';
import { hopKey, prefixOf, Withheld } from '../settle/withheld-routes.ts';

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
  /** Whether detours may be in the kernel: those of the run before, or of a trial that the kernel broke off. */
  #isLittered = true;
  /** Routes that a trial took away and that are to come back. */
  #taken: readonly MultipathRoute[] = [];
  /** What the kernel refused last, which is said once. */
  #refusal: string | undefined;
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

  /** Looks after it until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    clearTimeout(this.#timer);
  }

  /** One look. What the kernel refuses, as while an uplink goes down, is said; the next look tries it again. */
  async look(): Promise<void> {
    try {
      await this.#tidy();
      await this.#try();
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      this.#say(error);
    }
  }

  /** What an earlier trial left behind comes first: it would decide what is reached. */
  async #tidy(): Promise<void> {
    const { detour, servers } = this.#options;
    if (this.#isLittered) await detour.clear();
    this.#isLittered = false;
    // Once the cluster is known, its BgpNodeState says which routes there are.
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
    this.#isLittered = true;
    const way = await detour.begin(servers.all);
    this.#refusal = undefined;
    try {
      if (way.length > 0 && (await isReached())) await this.#withhold(suspects);
    } finally {
      await detour.end(way);
    }
    this.#isLittered = false;
  }

  /** Without knowing where the API servers are there is no detour to them. */
  async #tryWithout(suspects: readonly MultipathRoute[]): Promise<void> {
    const { detour, servers, isReached, nowMs } = this.#options;
    if (nowMs() < this.#nextBlindMs) return;
    this.#taken = [...this.#taken, ...suspects];
    await detour.end(suspects);
    if (await isReached()) {
      this.#taken = [];
      await this.#withhold(suspects);
      this.#isCoarse = !servers.isComplete;
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
    else this.#say(first.error);
  }

  #say({ code, message }: NetlinkError): void {
    if (this.#refusal === message) return;
    this.#refusal = message;
    const what = 'while a way to the API server past learned routes was looked for';
    this.#options.log.warn(
      { code },
      `the kernel refused ${message}, ${what}; it is tried again in ${everyMs / 1000} s`,
    );
  }

  async #withhold(routes: readonly MultipathRoute[]): Promise<void> {
    const { detour, nowMs, log } = this.#options;
    this.#withheld.add(routes.flatMap(keysOf), nowMs());
    const prefixes = routes.map(({ destination }) => destination);
    log.warn({ prefixes }, 'the API server was not reached by learned routes and is without them; they are withheld');
    // What the kernel does not let go of here goes by the plan of learned routes.
    try {
      await detour.end(routes);
    } finally {
      this.#tell();
    }
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
