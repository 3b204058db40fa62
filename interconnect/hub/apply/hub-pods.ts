/**
 * Sets of pods that policies name across clusters. In: reports of sessions, prefixes of members. Out: to each session, the sets that others want of it, and those
 * that it wants of others. The work follows a change and the members that want the set. They are in memory only: members report again to a hub that
 * starts, and keep what they have of a set until it is sent to them anew. The sets of a member without a session stay as they were.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import type { Rejection } from '../../model/messages.ts';
import type { PodReport } from '../../model/pod-sets.ts';
import type { MemberRecord } from '../model/record.ts';
import { OfferedPods } from '../settle/offered-pods.ts';
import { refuseWanted, WantedPods } from '../settle/wanted-pods.ts';
import { moveEntry } from '../state/member-records.ts';
import { PodFeed } from './pod-feed.ts';
import type { OpenSession } from './sessions.ts';

/** A burst of changes is one update. */
const gatherMs = 5;

/** Names that wait for a member that does not read would grow with each of its reports. */
const tooEarly: Problem = {
  code: 'ReportTooEarly',
  message:
    'a report of pods that policies name came before the answer to the last one; run a release of Isthmus in this cluster that waits for it',
};

export interface HubPodsOptions {
  readonly isMember: (cluster: string) => boolean;
  readonly onRefused: (cluster: string, count: number, rejections: readonly Rejection[]) => void;
}

export class HubPods {
  readonly #options: HubPodsOptions;
  readonly #offered = new Map<string, OfferedPods>();
  readonly #feeds = new Map<OpenSession, PodFeed>();
  readonly #wanted: WantedPods;
  /** Of what a session wants. */
  readonly #refused = new Map<OpenSession, readonly Rejection[]>();
  readonly #stale = new Set<PodFeed>();
  #gather: NodeJS.Timeout | undefined;

  constructor(options: HubPodsOptions) {
    this.#options = options;
    this.#wanted = new WantedPods(options.isMember);
  }

  /** Sets that members send. */
  get size(): number {
    return this.#offered.values().reduce((sum, { accepted }) => sum + accepted.size, 0);
  }
  get addresses(): number {
    return this.#offered.values().reduce((sum, { addressCount }) => sum + addressCount, 0);
  }
  /** Sets that members are asked for. */
  get asked(): number {
    return this.#wanted.size;
  }
  /** Of members that have a session. */
  get rejections(): number {
    const connected = new Set(Array.from(this.#feeds.keys(), ({ name }) => name));
    const offered = connected.values().reduce((sum, name) => sum + (this.#offered.get(name)?.rejectionCount ?? 0), 0);
    return this.#refused.values().reduce((sum, { length }) => sum + length, offered);
  }

  /** Call for each session; nothing is sent before its first report. */
  opened(open: OpenSession): void {
    const feed = new PodFeed({
      session: open.session,
      find: ({ member, id }) =>
        this.#wanted.isWantedBy(open, member, id) && member !== open.name
          ? this.#offered.get(member)?.accepted.get(id)
          : undefined,
      isGone: ({ member }) => !this.#offered.has(member),
      asked: () =>
        this.#wanted.askedOf(open.name).filter(({ id }) => this.#offered.get(open.name)?.isLost(id) !== true),
      onAsked: () => this.#keepWanted(open.name),
      rejections: () => [...(this.#offered.get(open.name)?.rejections() ?? []), ...(this.#refused.get(open) ?? [])],
    });
    this.#feeds.set(open, feed);
    // A new session may have fewer pods.
    this.#offered.get(open.name)?.retry();
  }

  closed(open: OpenSession): void {
    const feed = this.#feeds.get(open);
    if (feed === undefined) return;
    feed.close();
    this.#feeds.delete(open);
    this.#stale.delete(feed);
    this.#refused.delete(open);
    this.#askedChanged(this.#wanted.set(open, []).asked);
  }

  /** A report of the session that counts for its member. Returns why the session must end. */
  read(open: OpenSession, { revision, wanted, changed }: PodReport): Problem | undefined {
    const feed = this.#feeds.get(open);
    if (feed === undefined) return undefined;
    if (feed.isUnanswered) return tooEarly;
    feed.read(revision);
    if (wanted !== null) {
      this.#refused.set(open, refuseWanted(wanted.sets));
      feed.rejectionsChanged();
      const { asked, added, removed } = this.#wanted.set(open, wanted.sets);
      this.#askedChanged(asked);
      for (const [member, ids] of removed) for (const id of ids) feed.forget({ member, id });
      for (const [member, ids] of added) for (const id of ids) feed.changed({ member, id });
    }
    const offered = this.#of(open.name);
    if (offered.read(changed, feed.asked)) feed.askedChanged();
    this.#offersChanged(open.name, offered);
    this.#schedule(feed);
    return undefined;
  }

  /** The record of a member is another one. */
  recordChanged({ name, attachments }: MemberRecord): void {
    const offered = this.#of(name);
    const own = attachments.flatMap(({ prefixes }) => prefixes.filter(({ origin }) => origin !== learnedOrigin));
    offered.setPrefixes(own.map(({ cidr }) => cidr));
    this.#offersChanged(name, offered);
  }

  /** To be called before the session or a record has the new name. */
  rename(before: string, name: string): void {
    const offered = this.#offered.get(before);
    if (offered === undefined) return;
    const ids = [...offered.accepted.keys()];
    moveEntry(this.#offered, before, name);
    offered.rename(name);
    this.#offersChanged(name, offered);
    for (const id of ids) for (const member of [name, before]) this.#changed(member, id);
    for (const [open, feed] of this.#feeds) {
      if (open.name !== before && open.name !== name) continue;
      feed.askedChanged();
      this.#schedule(feed);
    }
  }

  /** The member has left, or is dead: its sets are withdrawn. */
  drop(name: string): void {
    const offered = this.#offered.get(name);
    this.#offered.delete(name);
    for (const id of offered?.accepted.keys() ?? []) this.#changed(name, id);
  }

  close(): void {
    clearTimeout(this.#gather);
    for (const feed of this.#feeds.values()) feed.close();
  }

  #of(name: string): OfferedPods {
    const known = this.#offered.get(name);
    if (known !== undefined) return known;
    const offered = new OfferedPods(name);
    this.#offered.set(name, offered);
    return offered;
  }

  #askedChanged(members: ReadonlySet<string>): void {
    if (members.size === 0) return;
    const connected = new Set<string>();
    for (const [open, feed] of this.#feeds) {
      if (!members.has(open.name)) continue;
      connected.add(open.name);
      feed.askedChanged();
      this.#schedule(feed);
    }
    for (const name of members) if (!connected.has(name)) this.#keepWanted(name);
  }

  #keepWanted(name: string): void {
    this.#offered.get(name)?.keep(new Set(this.#wanted.askedOf(name).map(({ id }) => id)));
  }

  #offersChanged(name: string, offered: OfferedPods): void {
    for (const id of offered.takeChanged()) this.#changed(name, id);
    if (!offered.takeRefused()) return;
    for (const [open, feed] of this.#feeds) {
      if (open.name !== name) continue;
      feed.rejectionsChanged();
      this.#schedule(feed);
    }
    if (offered.rejectionCount > 0) this.#options.onRefused(name, offered.rejectionCount, offered.rejections());
  }

  #changed(member: string, id: string): void {
    for (const open of this.#wanted.wanting(member, id)) {
      const feed = this.#feeds.get(open as OpenSession);
      if (feed === undefined) continue;
      feed.changed({ member, id });
      this.#schedule(feed);
    }
  }

  #schedule(feed: PodFeed): void {
    this.#stale.add(feed);
    this.#gather ??= setTimeout(() => {
      this.#gather = undefined;
      const stale = [...this.#stale];
      this.#stale.clear();
      for (const one of stale) one.send();
    }, gatherMs);
  }
}
