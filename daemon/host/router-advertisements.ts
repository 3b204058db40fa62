/**
 * Router advertisements on links where the speaker has peers without an address. A router with the link as its neighbour, such as FRR,
 * takes a session from nobody it did not hear of in this way; and asked, it says at once that it is there.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Link } from '../../lib/netlink/link.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { type OwnEnd, sendRouterAdvertisement, sendRouterSolicitation } from './icmpv6.ts';
import type { Rtnetlink } from './rtnetlink.ts';

/** The least that RFC 4861 lets routers take for their longest interval. */
const everyMs = 4000;
/** Until the link-local address of a link that came up may be used: nobody else must have it. */
const settleMs = 1000;
/** MAX_RTR_SOLICITATIONS */
const solicitations = 3;

export interface RouterMessages {
  readonly advertise: (end: OwnEnd) => void;
  readonly solicit: (end: OwnEnd) => void;
}

export class RouterAdvertisements {
  readonly #netlink: Pick<Rtnetlink, 'links'>;
  readonly #messages: RouterMessages;
  readonly #onProblems: () => void;
  #names: ReadonlySet<string> = new Set();
  /** Solicitations sent, by index of links that are up. */
  #solicited = new Map<number, number>();
  #failed: ReadonlySet<number> = new Set();
  #problems: readonly Problem[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isSettling = false;

  constructor(
    netlink: Pick<Rtnetlink, 'links'>,
    onProblems: () => void,
    messages: RouterMessages = { advertise: sendRouterAdvertisement, solicit: sendRouterSolicitation },
  ) {
    this.#netlink = netlink;
    this.#onProblems = onProblems;
    this.#messages = messages;
  }

  /** Indexes of the links it sends on. */
  get links(): ReadonlySet<number> {
    return new Set(this.#solicited.keys());
  }

  /** Links where nothing could be sent, twice in a row: an address may not be ready yet. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Sends on these links from now on; on a new one at once. */
  set(names: readonly string[]): void {
    const isNew = names.some((name) => !this.#names.has(name));
    this.#names = new Set(names);
    if (names.length === 0) this.close();
    else if (isNew) void this.send();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#names = new Set();
    this.#problems = [];
  }

  /** A link of `links` changed: the router on it may have forgotten this node. */
  linkChanged(): void {
    if (this.#isSettling || this.#names.size === 0) return;
    this.#isSettling = true;
    this.#again(settleMs);
  }

  /** Sends once, and again after a while. */
  async send(): Promise<void> {
    this.#isSettling = false;
    this.#again(everyMs);
    const links = (await this.#netlink.links()).filter(({ name, isRunning }) => isRunning && this.#names.has(name));
    const before = this.#solicited;
    this.#solicited = new Map(links.map(({ index }) => [index, before.get(index) ?? 0]));
    const problems = this.#problems;
    const failures = new Map(links.flatMap((link) => this.#sendOn(link)));
    this.#problems = [...failures].flatMap(([index, problem]) => (this.#failed.has(index) ? [problem] : []));
    this.#failed = new Set(failures.keys());
    if (!isDeepStrictEqual(problems, this.#problems)) this.#onProblems();
  }

  #again(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.send(), afterMs);
  }

  /** What failed. A link that is not there or is down is told of by the speaker, which sees it too. */
  #sendOn(link: Link): [index: number, problem: Problem][] {
    const sent = this.#solicited.get(link.index) ?? 0;
    try {
      this.#messages.advertise(link);
      if (sent < solicitations) this.#messages.solicit(link);
      this.#solicited.set(link.index, sent + 1);
      return [];
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      const message = `no router advertisement could be sent on ${link.name}: ${error.message}; a router that waits for one takes no BGP session from this node`;
      return [[link.index, { code: 'AdvertisementNotSent', message }]];
    }
  }
}
