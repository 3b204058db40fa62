/**
 * The members of this hub: who is connected, what each is told, what becomes of those that are gone.
 *
 * In: sessions, changes of foreign zones, of limits and of datapaths. Out: to each session, once it is in the databases,
 * what it got and what the others are. A member's rows stay when its session ends; they go when it has had none for long
 * and others say that they do not reach it.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Member, MemberState, SilentDatabase } from '../../model/messages.ts';
import type { MemberSession } from '../../link/server.ts';
import { refuseCopy, refuseRename } from '../settle/rename.ts';
import { foreignOf, isSameForAll, memberOf, switchesFor, type Presence } from '../plan/view.ts';
import { Audience, type OpenSession } from './sessions.ts';
import { Members, moveEntry, type MembersOptions } from '../settle/members.ts';
import type { AllocatedPort, ForeignMember, MemberRecord } from '../model/record.ts';
import type { MemberPresence } from '../model/store.ts';

export interface RosterTimes {
  /** A session that is back within this time was never away: an agent that starts again is no news. */
  readonly graceMs: number;
  /** The same for all members when the hub starts: an agent that starts as well may have to wait for a lease of 15 s. */
  readonly startGraceMs: number;
  /** Without a session for so long, and not reached by those that have one, a member's rows go. */
  readonly staleAfterMs: number;
  /** From the moment all were told that a path goes until it is gone. */
  readonly retireMs: number;
}

export interface RosterOptions extends MembersOptions {
  readonly target: MembersOptions['target'] & { untilApplied(): Promise<void> };
  /** Of both databases. */
  readonly untilApplied: () => Promise<void>;
  readonly readForeign: (name: string) => ForeignMember | undefined;
  readonly silentDatabases: () => readonly SilentDatabase[];
  readonly report: (name: string, ports: readonly AllocatedPort[], presence: MemberPresence) => void;
  readonly times: RosterTimes;
  readonly now: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

const present: Presence = { connected: true, lastSeenMs: 0 };

interface Shown {
  readonly record: MemberRecord;
  readonly presence: Presence;
  /** By the networks that the receiver takes part in. */
  readonly members: Map<string, Member>;
}

export class Roster {
  readonly #options: RosterOptions;
  readonly #members: Members;
  readonly #audience: Audience;
  readonly #presence = new Map<string, Presence>();
  readonly #ports = new Map<string, readonly AllocatedPort[]>();
  /** Since when a member has no session, by the hub's clock; it may have been away before the hub started. */
  readonly #absentSince = new Map<string, number>();
  readonly #graces = new Map<string, NodeJS.Timeout>();
  readonly #retirements = new Map<string, NodeJS.Timeout>();
  readonly #shown = new Map<string, Shown>();
  readonly #staleCheck: NodeJS.Timeout;

  constructor(options: RosterOptions, records: ReadonlyMap<string, MemberRecord>) {
    this.#options = options;
    this.#audience = new Audience({
      names: () => [...this.#members.names(), ...this.#members.foreignNames()],
      member: (name, receiver, networks) => this.#member(name, receiver, networks),
      networksOf: (receiver) => new Set(this.#members.record(receiver)?.attachments.map(({ network }) => network)),
      switches: (receiver) => switchesFor(receiver, this.#members.record(receiver), options.networks.values()),
      rejections: (receiver) => this.#members.rejections(receiver),
      expected: () => this.#members.expected(),
      silentDatabases: options.silentDatabases,
      untilApplied: options.untilApplied,
      onTold: () => this.#retire(),
    });
    this.#members = new Members(options, {
      onMember: (name) => this.#audience.memberChanged(name),
      onOwn: (name) => this.#audience.ownChanged(name),
      onAll: () => this.#audience.allChanged(),
      onPorts: (name, ports) => {
        this.#ports.set(name, ports);
        this.#report(name);
      },
    });
    for (const { cluster } of options.registry.members()) {
      if (options.registry.isStale(cluster)) this.#presence.set(cluster, { connected: false, lastSeenMs: 0 });
      else this.#miss(cluster, options.times.startGraceMs);
    }
    this.#members.load(records);
    const { staleAfterMs } = options.times;
    this.#staleCheck = setInterval(() => this.#dropStale(), Math.min(5000, Math.max(20, staleAfterMs / 4)));
  }

  get sessions(): number {
    return this.#audience.size;
  }

  /** Members with rows. */
  get size(): number {
    return this.#members.size;
  }

  get rejections(): number {
    return this.#members.rejectionCount;
  }

  get foreignZones(): number {
    return [...this.#members.foreignNames()].length;
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  open(session: MemberSession): void {
    const open = this.#audience.open(session);
    this.#meet(open.name);
    this.#options.log.info({ cluster: open.name }, 'session opened');
    session.onState((state) => {
      if (this.#audience.isCandidate(open)) this.#judge(open, state);
      if (this.#audience.get(open.name) === open) this.#hear(open, state);
    });
    session.onEnd(() => {
      if (!this.#audience.forget(open)) return;
      this.#members.forgetWish(open.name);
      this.#options.log.info({ cluster: open.name }, 'session ended');
      this.#miss(open.name);
    });
  }

  /** Why the member may not be called otherwise; `chassis` are those of its gateways, as it says. */
  refuseRename(before: string, name: string, chassis: readonly string[]): Problem | undefined {
    const [record, networks] = [this.#members.record(before), this.#options.networks.values()];
    return refuseRename({ before, name, chassis, record, records: this.#members.records(), networks });
  }

  /** The registry calls it otherwise now. Resolves when the databases do. */
  async rename(before: string, name: string): Promise<void> {
    this.#audience.rename(before, name, { code: 'NotAMember', message: `${before} is called ${name} now` });
    for (const map of [this.#presence, this.#absentSince, this.#ports]) moveEntry<unknown>(map, before, name);
    this.#shown.delete(before);
    clearTimeout(this.#graces.get(before));
    if (this.#graces.delete(before)) this.#miss(name);
    this.#members.rename(before, name);
    this.#report(name);
    await this.#options.untilApplied();
  }

  endSession(name: string, problem: Problem): void {
    if (this.#audience.get(name) === undefined) return;
    this.#audience.refuse(name, problem);
    this.#members.forgetWish(name);
    this.#miss(name);
  }

  /** The membership is over. Resolves when no row of it is left. */
  async remove(name: string): Promise<void> {
    this.#audience.refuse(name, { code: 'NotAMember', message: `${name} has left` });
    clearTimeout(this.#graces.get(name));
    for (const map of [this.#graces, this.#presence, this.#absentSince, this.#ports, this.#shown]) map.delete(name);
    this.#members.disown(name);
    this.#drop(name);
    await this.#options.target.untilApplied();
  }

  limitsChanged(name: string): void {
    this.#members.replan(name);
    this.#report(name);
  }

  /** Another set of the hub's databases is silent now. */
  databasesChanged(): void {
    this.#audience.databasesChanged();
  }

  foreignChanged(names: Iterable<string>): void {
    for (const name of names) this.#members.setForeign(name, this.#options.readForeign(name));
  }

  /** The datapath of a switch is another one now. */
  datapathChanged(): void {
    this.#audience.allChanged();
  }

  /** The target's word on a member's rows. */
  result(name: string, problem: Problem | undefined): void {
    this.#members.result(name, problem);
  }

  close(): void {
    for (const timer of [...this.#graces.values(), ...this.#retirements.values()]) clearTimeout(timer);
    clearInterval(this.#staleCheck);
    this.#audience.close();
  }

  /** The same identity with other gateways, while the first has a session: a copy of the cluster must not take its place. */
  #judge(open: OpenSession, state: MemberState): void {
    const { name } = open;
    const gateways = state.gateways.map(({ chassis }) => chassis);
    const problem = refuseCopy(name, this.#members.record(name), gateways);
    if (problem === undefined) return this.#audience.accept(open);
    this.#options.log.warn({ cluster: name, gateways }, problem.message);
    open.session.refuse(problem);
  }

  #hear(open: OpenSession, state: MemberState): void {
    open.revision = state.revision;
    this.#audience.hear(open, new Set(state.unreachable));
    this.#members.wish(open.name, state);
  }

  #meet(name: string): void {
    clearTimeout(this.#graces.get(name));
    this.#graces.delete(name);
    this.#absentSince.delete(name);
    if (this.#presence.get(name)?.connected !== true) {
      this.#presence.set(name, present);
      this.#audience.memberChanged(name);
    }
    this.#report(name);
  }

  #miss(name: string, graceMs = this.#options.times.graceMs): void {
    const lastSeenMs = this.#options.now();
    this.#presence.set(name, present);
    this.#absentSince.set(name, lastSeenMs);
    const tell = (): void => {
      this.#graces.delete(name);
      this.#presence.set(name, { connected: false, lastSeenMs });
      this.#audience.memberChanged(name);
      this.#report(name);
    };
    this.#graces.set(name, setTimeout(tell, graceMs));
  }

  #report(name: string): void {
    const { registry, report } = this.#options;
    const presence = this.#presence.get(name);
    if (registry.member(name) === undefined || presence === undefined) return;
    const isStale = !presence.connected && !this.#members.has(name) && registry.isStale(name);
    const state = presence.connected ? 'Connected' : isStale ? 'Stale' : 'Absent';
    report(name, this.#ports.get(name) ?? registry.ports(name), { state, lastSeenMs: presence.lastSeenMs });
  }

  #drop(name: string): void {
    this.#members.drop(name);
  }

  /** Gone for long, and every other member that is connected, one at least, says that it does not reach it. */
  #dropStale(): void {
    const { now, times, registry, report, log } = this.#options;
    for (const [name, sinceMs] of this.#absentSince) {
      if (now() - sinceMs < times.staleAfterMs) continue;
      const others = [...this.#audience.entries()].filter(([other]) => other !== name);
      // Without a witness it may as well be the hub that is cut off.
      if (others.length === 0 || !others.every(([, { unreachable }]) => unreachable.has(name))) continue;
      this.#absentSince.delete(name);
      clearTimeout(this.#graces.get(name));
      this.#graces.delete(name);
      log.warn({ cluster: name }, 'no session for long and nobody reaches it: its rows go, its membership stays');
      report(name, this.#ports.get(name) ?? registry.ports(name), { state: 'Stale', lastSeenMs: sinceMs });
      this.#presence.set(name, { connected: false, lastSeenMs: sinceMs });
      this.#drop(name);
    }
  }

  /** Starts the time of paths that go, once every member that has a port on them was told. */
  #retire(): void {
    const { networks, times, log } = this.#options;
    for (const network of networks.values()) {
      for (const { index, switch: pathSwitch, retiring } of network.switches) {
        if (!retiring || this.#retirements.has(pathSwitch)) continue;
        if (![...this.#members.attached(network.name)].every((name) => this.#knowsOfEnd(name, pathSwitch))) continue;
        const end = (): void => {
          this.#retirements.delete(pathSwitch);
          if (networks.path(pathSwitch)?.retiring !== true) return;
          log.info({ transitSwitch: network.name, path: pathSwitch }, 'the path is gone');
          this.#members.removePath(network.name, index);
        };
        this.#retirements.set(pathSwitch, setTimeout(end, times.retireMs));
      }
    }
  }

  #knowsOfEnd(name: string, pathSwitch: string): boolean {
    const told = this.#audience.get(name)?.told?.transitSwitches ?? [];
    return told.some(({ paths }) => paths.some((path) => path.switch === pathSwitch && path.retiring));
  }

  #member(name: string, receiver: string, networks: ReadonlySet<string>): Member | undefined {
    const { networks: all } = this.#options;
    const foreign = this.#members.foreign(name);
    if (foreign !== undefined) return foreignOf(foreign, networks, (pathSwitch) => all.path(pathSwitch)?.network);
    const record = this.#members.record(name);
    if (record === undefined) return undefined;
    const presence = this.#presence.get(name) ?? present;
    if (!isSameForAll(record)) return memberOf(record, presence, receiver, networks);
    const known = this.#shown.get(name);
    const isKnown = known?.record === record && known.presence === presence;
    const shown: Shown = isKnown ? known : { record, presence, members: new Map() };
    if (!isKnown) this.#shown.set(name, shown);
    const key = [...networks].join();
    const member = shown.members.get(key) ?? memberOf(record, presence, receiver, networks);
    shown.members.set(key, member);
    return member;
  }
}
