/**
 * Sends router advertisements on links where the speaker has peers without an address. A router with an unnumbered neighbour on the link,
 * such as FRR, only accepts a session from a node whose advertisement it has received. A solicitation makes it advertise itself at once.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Link } from '../../lib/netlink/link.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { type LinkEnd, sendRouterAdvertisement, sendRouterSolicitation } from './icmpv6.ts';
import type { Rtnetlink } from './rtnetlink.ts';

/** The lowest MaxRtrAdvInterval that RFC 4861 allows. */
const everyMs = 4000;
/** Time for duplicate address detection of the link-local address of a link that came up. */
const settleMs = 1000;
/** MAX_RTR_SOLICITATIONS */
const solicitations = 3;

export interface RouterMessages {
  readonly advertise: (end: LinkEnd) => void;
  readonly solicit: (end: LinkEnd) => void;
}

export class RouterAdvertisements {
  readonly #netlink: Pick<Rtnetlink, 'links'>;
  readonly #messages: RouterMessages;
  readonly #onProblems: () => void;
  #names: ReadonlySet<string> = new Set();
  /** Number of solicitations sent, by index of the links that are up. */
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

  /** Indexes of the links that advertisements are sent on. */
  get links(): ReadonlySet<number> {
    return new Set(this.#solicited.keys());
  }

  /** Problems of links where sending failed twice in a row; once is normal, because an address may not be ready yet. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Sets the links to send on; sends at once if there is a new one. */
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

  /** To be called after a change of one of `links`: its router may have forgotten this node. */
  linkChanged(): void {
    if (this.#isSettling || this.#names.size === 0) return;
    this.#isSettling = true;
    this.#again(settleMs);
  }

  /** Sends once, and schedules the next time. */
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

  /** Returns the failure, if any. Links that are missing or down are reported by the speaker, which sees them too. */
  #sendOn(link: Link): [index: number, problem: Problem][] {
    const sent = this.#solicited.get(link.index) ?? 0;
    try {
      this.#messages.advertise(link);
      if (sent < solicitations) this.#messages.solicit(link);
      this.#solicited.set(link.index, sent + 1);
      return [];
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      const message = `no router advertisement could be sent on ${link.name}: ${error.message}; a router that waits for one accepts no BGP session from this node`;
      return [[link.index, { code: 'AdvertisementNotSent', message }]];
    }
  }
}
