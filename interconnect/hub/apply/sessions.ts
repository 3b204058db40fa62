/**
 * The open sessions and the last update of each. In: events about changes. Out: updates, once the databases contain their
 * content. For each session only changes since its last update are compared, and equal views are not sent.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type {
  AcceptedKey,
  HubUpdate,
  KeyAcceptance,
  Member,
  Rejection,
  SilentDatabase,
  TransitSwitch,
} from '../../model/messages.ts';
import type { MemberSession } from '../../link/server.ts';
import { isNews } from '../plan/view.ts';

/** Everything that updates are made of, as each receiver sees it. */
export interface SessionSource {
  names(): Iterable<string>;
  member(name: string, receiver: string, networks: ReadonlySet<string>): Member | undefined;
  /** Networks that the receiver takes part in. */
  networksOf(receiver: string): ReadonlySet<string>;
  switches(receiver: string): readonly TransitSwitch[];
  rejections(receiver: string): readonly Rejection[];
  expected(): readonly string[];
  silentDatabases(): readonly SilentDatabase[];
  /** Network of the addresses within encrypted tunnels, and those of the receiver's gateways. */
  tunnels(receiver: string): Pick<HubUpdate, 'tunnelCidr' | 'tunnelAddresses'>;
  /** `acceptedBy`: the members that say to accept a next key of the receiver. */
  acceptances(receiver: string, acceptedBy: (publicKey: string) => readonly string[]): readonly KeyAcceptance[];
  /** Resolves when the databases hold everything planned so far. */
  untilApplied(): Promise<void>;
  /** All pending updates were sent to all sessions. */
  onSent(): void;
}

export interface OpenSession {
  readonly session: MemberSession;
  /** The present name of the member: it may be renamed during the session. */
  name: string;
  /** Of the member's newest state. */
  revision: number;
  /** Other members to which all its paths are down. */
  unreachable: ReadonlySet<string>;
  /** Next keys of others that all its gateways accept: `<cluster> <key>` → both. */
  acceptedKeys: ReadonlyMap<string, AcceptedKey>;
  /** The last update; undefined before the first. */
  sent: Omit<HubUpdate, 'full'> | undefined;
  readonly members: Map<string, Member>;
  readonly dirty: Set<string>;
  /** Whether the update for the member itself may have changed. */
  isOwnDirty: boolean;
  networks: string;
}

/** A burst of changes is one update. */
const gatherMs = 5;

export class Sessions {
  readonly #source: SessionSource;
  readonly #sessions = new Map<string, OpenSession>();
  /**
   * Second sessions of clusters: they are sent everything, and count once their first state shows that they are no
   * copy.
   */
  readonly #candidates = new Map<string, OpenSession>();
  #timer: NodeJS.Timeout | undefined;
  #isSending = false;
  #isStale = false;
  #isClosed = false;

  constructor(source: SessionSource) {
    this.#source = source;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(name: string): OpenSession | undefined {
    return this.#sessions.get(name);
  }

  entries(): MapIterator<[string, OpenSession]> {
    return this.#sessions.entries();
  }

  /** A second session of a cluster takes over only by `accept`: it may be from a copy of the cluster. */
  open(session: MemberSession): OpenSession {
    const name = session.caller.cluster;
    const open: OpenSession = {
      session,
      name,
      revision: 0,
      unreachable: new Set(),
      acceptedKeys: new Map(),
      sent: undefined,
      members: new Map(),
      dirty: new Set(),
      isOwnDirty: true,
      networks: '',
    };
    if (this.#sessions.has(name)) {
      this.#candidates.get(name)?.session.refuse(replaced(name));
      this.#candidates.set(name, open);
    } else this.#sessions.set(name, open);
    // Updates wait for the databases; the report that these are silent must not.
    if (this.#source.silentDatabases().length > 0) session.send({ ...this.#nothing(name), full: false });
    this.#schedule();
    return open;
  }

  isCandidate(open: OpenSession): boolean {
    return this.#candidates.get(open.name) === open;
  }

  /** An agent that took over does not have to wait for the end of the session before. */
  accept(open: OpenSession): void {
    const { name } = open;
    const older = this.#sessions.get(name);
    this.#candidates.delete(name);
    this.#sessions.set(name, open);
    if (older !== open) older?.session.refuse(replaced(name));
  }

  /** Returns whether it was the session that counts and no other takes its place. */
  forget(open: OpenSession): boolean {
    const { name } = open;
    const candidate = this.#candidates.get(name);
    if (candidate === open) this.#candidates.delete(name);
    if (this.#sessions.get(name) !== open) return false;
    this.#sessions.delete(name);
    for (const other of open.unreachable) this.ownChanged(other);
    for (const { cluster } of open.acceptedKeys.values()) this.ownChanged(cluster);
    if (candidate === undefined) return true;
    this.accept(candidate);
    return false;
  }

  /** Sets which other members a member does not reach; members for which that changed are sent an update. */
  setUnreachable(open: OpenSession, unreachable: ReadonlySet<string>): void {
    const turned = open.unreachable.symmetricDifference(unreachable);
    open.unreachable = unreachable;
    for (const name of turned) this.ownChanged(name);
  }

  /** Sets which next keys of others a member accepts; the owners of those that changed are sent an update. */
  setAcceptedKeys(open: OpenSession, accepted: ReadonlyMap<string, AcceptedKey>): void {
    const before = open.acceptedKeys;
    open.acceptedKeys = accepted;
    for (const [text, { cluster }] of before) if (!accepted.has(text)) this.ownChanged(cluster);
    for (const [text, { cluster }] of accepted) if (!before.has(text)) this.ownChanged(cluster);
  }

  /**
   * Its session goes on. A second session that waits has a certificate of the former name, which is no longer valid.
   */
  rename(before: string, name: string, problem: Problem): void {
    const open = this.#sessions.get(before);
    this.#sessions.delete(before);
    this.refuse(before, problem);
    if (open === undefined) return;
    open.name = name;
    this.#sessions.set(name, open);
  }

  /** Ends all sessions of the cluster. */
  refuse(name: string, problem: Problem): void {
    for (const sessions of [this.#candidates, this.#sessions]) {
      const open = sessions.get(name);
      sessions.delete(name);
      open?.session.refuse(problem);
    }
  }

  memberChanged(name: string): void {
    for (const [, { dirty }] of this.#all()) dirty.add(name);
    this.#schedule();
  }

  ownChanged(name: string): void {
    for (const sessions of [this.#sessions, this.#candidates]) {
      const open = sessions.get(name);
      if (open !== undefined) open.isOwnDirty = true;
    }
    this.#schedule();
  }

  allChanged(): void {
    for (const [, open] of this.#all()) open.isOwnDirty = true;
    this.#schedule();
  }

  /** Sent at once, whatever else waits for the databases. */
  databasesChanged(): void {
    if (this.#isClosed) return;
    const silentDatabases = this.#source.silentDatabases();
    for (const [name, open] of this.#all()) {
      const update = { ...(open.sent ?? this.#nothing(name)), silentDatabases };
      if (open.sent !== undefined) open.sent = update;
      open.session.send({ ...update, full: false });
    }
  }

  /** Whether the member has received an update that this path is removed. */
  knowsOfEnd(name: string, pathSwitch: string): boolean {
    const switches = this.get(name)?.sent?.transitSwitches ?? [];
    return switches.some(({ paths }) => paths.some((path) => path.switch === pathSwitch && path.retiring));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  *#all(): Generator<[string, OpenSession]> {
    yield* this.#sessions;
    yield* this.#candidates;
  }

  #schedule(): void {
    this.#isStale = true;
    if (this.#isSending || this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#sendAll();
    }, gatherMs);
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      await this.#source.untilApplied();
      for (const [name, open] of this.#all()) this.#sendChanges(name, open);
      this.#source.onSent();
    }
    this.#isSending = false;
  }

  #sendChanges(name: string, open: OpenSession): void {
    const networks = this.#source.networksOf(name);
    const isFirst = open.sent === undefined;
    const names = [...networks].join();
    // Its view of every member depends on the networks that it takes part in.
    if (isFirst || names !== open.networks) for (const one of this.#source.names()) open.dirty.add(one);
    open.networks = names;
    if (!open.isOwnDirty && open.dirty.size === 0) return;
    const { members, removed } = this.#differences(name, open, networks);
    const own = open.isOwnDirty || open.sent === undefined ? this.#own(name, open) : open.sent;
    open.isOwnDirty = false;
    const update = { ...own, members, removed };
    if (!isNews(open.sent, update)) return;
    open.sent = { ...own, members: [], removed: [] };
    open.session.send({ ...update, full: isFirst });
  }

  #own(name: string, { revision }: Pick<OpenSession, 'revision'>): Omit<HubUpdate, 'full' | 'members' | 'removed'> {
    return {
      revision,
      transitSwitches: this.#source.switches(name),
      rejections: this.#source.rejections(name),
      expected: this.#source.expected().filter((one) => one !== name),
      silentDatabases: this.#source.silentDatabases(),
      unreachedBy: this.#unreachedBy(name),
      tellsUnreached: true,
      carriesExports: true,
      carriesPods: true,
      takesPaths: true,
      ...this.#source.tunnels(name),
      keyAcceptances: this.#source.acceptances(name, (publicKey) => this.#acceptedBy(`${name} ${publicKey}`)),
    };
  }

  #unreachedBy(name: string): readonly string[] {
    return [...this.#sessions].flatMap(([other, { unreachable }]) => (unreachable.has(name) ? [other] : [])).sort();
  }

  #acceptedBy(text: string): readonly string[] {
    return [...this.#sessions].flatMap(([other, open]) => (open.acceptedKeys.has(text) ? [other] : [])).sort();
  }

  /** An empty update for a session that has had none yet. The member must not conclude anything from it. */
  #nothing(name: string): Omit<HubUpdate, 'full'> {
    const own = this.#own(name, { revision: 0 });
    return { ...own, transitSwitches: [], members: [], removed: [] };
  }

  #differences(
    receiver: string,
    open: OpenSession,
    networks: ReadonlySet<string>,
  ): { members: readonly Member[]; removed: readonly string[] } {
    const members: Member[] = [];
    const removed: string[] = [];
    for (const name of open.dirty) {
      if (name === receiver) continue;
      const before = open.members.get(name);
      const after = this.#source.member(name, receiver, networks);
      if (after === before) continue;
      if (after === undefined) {
        open.members.delete(name);
        removed.push(name);
        continue;
      }
      open.members.set(name, after);
      if (before === undefined || JSON.stringify(before) !== JSON.stringify(after)) members.push(after);
    }
    open.dirty.clear();
    return { members, removed };
  }
}

function replaced(name: string): Problem {
  return { code: 'SessionReplaced', message: `a newer session of ${name} has taken over` };
}
