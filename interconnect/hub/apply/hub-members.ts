/**
 * The members of this hub: their connections, their updates, and the removal of absent ones.
 *
 * In: sessions, changes of foreign zones, of limits and of datapaths. Out: rows of each member; to each session, once
 * these are in the databases, the member's record and its view of the others. A member's rows stay when its session
 * ends. They are removed when it has had no session for long and other members report that they do not reach it.
 */
import type { Desired } from '../../../lib/desired/row.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { MemberSession } from '../../link/server.ts';
import type { Member, MemberState, PathReport, Rejection, SilentDatabase } from '../../model/messages.ts';
import { memberOwner } from '../model/owners.ts';
import type { AllocatedPort, ForeignMember, MemberRecord } from '../model/record.ts';
import type { MemberFigures, StoredReport } from '../model/store.ts';
import { MemberViews } from '../plan/member-views.ts';
import { planMember } from '../plan/rows.ts';
import { foreignOf, switchesFor, tunnelAddressesOf } from '../plan/view.ts';
import { Members, type MembersOptions } from '../settle/members.ts';
import { acceptReport } from '../settle/path-report.ts';
import { Presences } from '../settle/presence.ts';
import { admitAcceptedKeys, keyAcceptances } from '../settle/wireguard.ts';
import { refuseCopy, refuseRename } from '../settle/rename.ts';
import { DueFigures } from '../state/due-figures.ts';
import { moveEntry } from '../state/member-records.ts';
import { HubExports } from './hub-exports.ts';
import { HubPods } from './hub-pods.ts';
import { Sessions, type OpenSession } from './sessions.ts';

export interface HubTimes {
  /** A session that is back within this time was never away: an agent that starts again is no news. */
  readonly graceMs: number;
  /** The same for all members when the hub starts: an agent that starts as well may have to wait for a lease of 15 s. */
  readonly startGraceMs: number;
  /** The rows of a member go when it has had no session for so long and is not reached by those that have one. */
  readonly staleAfterMs: number;
  /** Time from the update of all members to the removal of the path. */
  readonly retireMs: number;
}

export interface HubMembersOptions extends MembersOptions {
  /** For rows of members. */
  readonly target: {
    set(owner: string, desired: Desired): void;
    drop(owner: string): void;
    untilApplied(): Promise<void>;
  };
  /** Of both databases. */
  readonly untilApplied: () => Promise<void>;
  readonly readForeign: (name: string) => ForeignMember | undefined;
  readonly silentDatabases: () => readonly SilentDatabase[];
  readonly report: (name: string, report: StoredReport) => void;
  readonly times: HubTimes;
  readonly now: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** Rejections in one line of the log; the member gets more. */
const mostLogged = 10;
/** Figures of a member are written so often at most: only people read them. */
const figuresEveryMs = 2000;

/** Of a member whose rows are removed. */
const nothing: MemberFigures = { prefixes: 0, exports: 0, rejections: 0, report: undefined };

export class HubMembers {
  readonly #options: HubMembersOptions;
  readonly #members: Members;
  readonly #sessions: Sessions;
  readonly #exports: HubExports;
  readonly #pods: HubPods;
  readonly #presences = new Presences();
  readonly #views = new MemberViews();
  readonly #ports = new Map<string, readonly AllocatedPort[]>();
  readonly #graces = new Map<string, NodeJS.Timeout>();
  readonly #retirements = new Map<string, NodeJS.Timeout>();
  readonly #staleCheck: NodeJS.Timeout;
  /** The last report of each member; null: it does not report. */
  readonly #reports = new Map<string, PathReport | null>();
  /** The figures of each member that were reported last. */
  readonly #figures = new Map<string, MemberFigures>();
  /** Members whose figures may be others since. */
  readonly #due = new DueFigures();
  #figuresTimer: NodeJS.Timeout | undefined;

  constructor(options: HubMembersOptions, records: ReadonlyMap<string, MemberRecord>) {
    this.#options = options;
    const { target, networks, registry, times, log, now } = options;
    const known = () => this.#members.records;
    this.#sessions = new Sessions({
      names: () => [...known().names(), ...known().foreignNames()],
      member: (name, receiver, shared) => this.#member(name, receiver, shared),
      networksOf: (receiver) =>
        new Set(
          known()
            .held(receiver)
            ?.attachments.map(({ network }) => network),
        ),
      switches: (receiver) => switchesFor(receiver, known().held(receiver), networks.values()),
      rejections: (receiver) => this.#members.rejections(receiver),
      expected: () => [...known().expected].sort(),
      silentDatabases: options.silentDatabases,
      tunnels: (receiver) => ({
        tunnelCidr: options.tunnelCidr,
        tunnelAddresses: tunnelAddressesOf(known().held(receiver)),
      }),
      acceptances: (receiver, acceptedBy) => keyAcceptances(known().held(receiver), acceptedBy),
      untilApplied: options.untilApplied,
      onSent: () => this.#retire(),
    });
    const onRefused = (cluster: string, count: number, rejections: readonly Rejection[]): void => {
      const fields = { cluster, count, rejections: rejections.slice(0, mostLogged) };
      log.warn(fields, 'a part of the state of a member was refused');
    };
    this.#exports = new HubExports({ registry, onRefused, onChanged: (name) => this.#figuresChanged(name), now });
    this.#pods = new HubPods({ isMember: (name) => registry.member(name) !== undefined, onRefused });
    this.#members = new Members(options, {
      onRecord: (record) => {
        target.set(memberOwner(record.handle), planMember(record));
        this.#exports.recordChanged(record);
        this.#pods.recordChanged(record);
        this.#figuresChanged(record.name);
      },
      onGone: (handle) => target.drop(memberOwner(handle)),
      onMember: (name) => this.#sessions.memberChanged(name),
      onOwn: (name) => {
        this.#sessions.ownChanged(name);
        this.#figuresChanged(name);
      },
      onAll: () => this.#sessions.allChanged(),
      onPorts: (name, ports) => {
        this.#ports.set(name, ports);
        this.#report(name);
      },
      onRefused,
    });
    for (const { cluster } of registry.members()) {
      if (registry.isStale(cluster)) this.#presences.setAbsent(cluster, 0);
      else this.#disconnected(cluster, times.startGraceMs);
    }
    this.#members.load(records);
    const { staleAfterMs } = times;
    this.#staleCheck = setInterval(() => this.#dropStale(), Math.min(5000, Math.max(20, staleAfterMs / 4)));
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Members with rows. */
  get size(): number {
    return this.#members.records.size;
  }

  get rejections(): number {
    return this.#members.rejectionCount + this.#exports.rejections + this.#pods.rejections;
  }

  /** Exported Services that were accepted, with their endpoints. */
  get exports(): number {
    return this.#exports.size;
  }

  get exportedEndpoints(): number {
    return this.#exports.endpoints;
  }

  /** Sets of pods that members send each other, with their addresses. */
  get podSets(): number {
    return this.#pods.size;
  }

  get podAddresses(): number {
    return this.#pods.addresses;
  }

  get foreignZones(): number {
    return [...this.#members.records.foreignNames()].length;
  }

  open(session: MemberSession): void {
    const open = this.#sessions.open(session);
    this.#exports.opened(open);
    this.#pods.opened(open);
    this.#connected(open.name);
    this.#options.log.info({ cluster: open.name }, 'session opened');
    session.onExports((report) => {
      if (this.#sessions.get(open.name) !== open) return;
      const problem = this.#exports.read(open, report);
      if (problem !== undefined) session.refuse(problem);
    });
    session.onPods((report) => {
      if (this.#sessions.get(open.name) !== open) return;
      const problem = this.#pods.read(open, report);
      if (problem !== undefined) session.refuse(problem);
    });
    session.onPaths((report) => {
      if (this.#sessions.get(open.name) === open) this.#setReport(open.name, this.#accept(report));
    });
    session.onState((state) => {
      if (this.#sessions.isCandidate(open)) this.#judgeCandidate(open, state);
      if (this.#sessions.get(open.name) === open) this.#receive(open, state);
    });
    session.onEnd(() => {
      this.#exports.closed(open);
      this.#pods.closed(open);
      if (!this.#sessions.forget(open)) return;
      this.#members.forgetRequest(open.name);
      this.#options.log.info({ cluster: open.name }, 'session ended');
      this.#disconnected(open.name);
    });
  }

  /** Why the member may not be renamed; `chassis`: those of its gateways, as it reports them. */
  refuseRename(before: string, name: string, chassis: readonly string[]): Problem | undefined {
    const { records } = this.#members;
    const networks = this.#options.networks.values();
    return refuseRename({ before, name, chassis, record: records.held(before), records: records.values(), networks });
  }

  /** The registry has another name for it now. Resolves when the databases have it too. */
  async rename(before: string, name: string): Promise<void> {
    this.#sessions.rename(before, name, { code: 'NotAMember', message: `${before} is called ${name} now` });
    this.#presences.rename(before, name);
    moveEntry(this.#ports, before, name);
    moveEntry(this.#reports, before, name);
    this.#figures.delete(before);
    this.#due.forget(before);
    this.#views.forget(before);
    clearTimeout(this.#graces.get(before));
    if (this.#graces.delete(before)) this.#disconnected(name);
    this.#exports.rename(before, name);
    this.#pods.rename(before, name);
    this.#members.rename(before, name);
    this.#report(name);
    await this.#options.untilApplied();
  }

  endSession(name: string, problem: Problem): void {
    if (this.#sessions.get(name) === undefined) return;
    this.#sessions.refuse(name, problem);
    this.#members.forgetRequest(name);
    this.#disconnected(name);
  }

  /** The membership is over. Resolves when no row of it is left. */
  async remove(name: string): Promise<void> {
    this.#sessions.refuse(name, { code: 'NotAMember', message: `${name} has left` });
    clearTimeout(this.#graces.get(name));
    for (const map of [this.#graces, this.#ports, this.#reports, this.#figures]) map.delete(name);
    this.#due.forget(name);
    this.#presences.delete(name);
    this.#views.forget(name);
    this.#members.disown(name);
    this.#members.drop(name);
    this.#exports.drop(name);
    this.#pods.drop(name);
    await this.#options.target.untilApplied();
  }

  limitsChanged(name: string): void {
    this.#members.settleAgain(name);
    this.#exports.limitsChanged(name);
    this.#report(name);
  }

  /** Another set of the hub's databases is silent now. */
  databasesChanged(): void {
    this.#sessions.databasesChanged();
  }

  foreignChanged(names: Iterable<string>): void {
    for (const name of names) this.#members.setForeign(name, this.#options.readForeign(name));
  }

  /** A switch has another datapath now. */
  datapathChanged(): void {
    this.#sessions.allChanged();
  }

  /** The result of writing a member's rows. */
  result(name: string, problem: Problem | undefined): void {
    this.#members.result(name, problem);
  }

  close(): void {
    for (const timer of [...this.#graces.values(), ...this.#retirements.values()]) clearTimeout(timer);
    clearInterval(this.#staleCheck);
    clearTimeout(this.#figuresTimer);
    this.#exports.close();
    this.#pods.close();
    this.#sessions.close();
  }

  /** The same identity with other gateways, while the first has a session: a copy of the cluster must not take its place. */
  #judgeCandidate(open: OpenSession, state: MemberState): void {
    const { name } = open;
    const gateways = state.gateways.map(({ chassis }) => chassis);
    const problem = refuseCopy(name, this.#members.records.held(name), gateways);
    if (problem === undefined) return this.#sessions.accept(open);
    this.#options.log.warn({ cluster: name, gateways }, problem.message);
    open.session.refuse(problem);
  }

  #receive(open: OpenSession, state: MemberState): void {
    open.revision = state.revision;
    this.#sessions.setUnreachable(open, new Set(state.unreachable));
    this.#sessions.setAcceptedKeys(open, admitAcceptedKeys(state.acceptedKeys));
    this.#members.request(open.name, state);
    if (!state.tellsExports) this.#exports.readNothing(open.name);
    if (this.#presences.setTellsPods(open.name, state.tellsPods === true)) this.#sessions.memberChanged(open.name);
    if (!state.tellsPaths) this.#setReport(open.name, null);
  }

  #accept(report: PathReport): PathReport {
    const { records } = this.#members;
    const isKnown = (name: string): boolean =>
      this.#options.registry.member(name) !== undefined || records.foreign(name) !== undefined;
    return acceptReport(report, isKnown);
  }

  #setReport(name: string, report: PathReport | null): void {
    if (report === null && this.#reports.get(name) === null) return;
    this.#reports.set(name, report);
    this.#figuresChanged(name);
  }

  #figuresChanged(name: string): void {
    this.#due.changed(name);
    this.#planFigures();
  }

  #planFigures(): void {
    this.#figuresTimer ??= setTimeout(() => {
      this.#figuresTimer = undefined;
      this.#reportFigures();
    }, figuresEveryMs);
  }

  #reportFigures(): void {
    const isNew = (name: string): boolean => !isSame(this.#figures.get(name), this.#figuresOf(name));
    for (const name of this.#due.take(isNew, performance.now())) this.#report(name);
    if (this.#due.isWaiting) this.#planFigures();
  }

  #figuresOf(name: string): MemberFigures {
    const attachments = this.#members.records.held(name)?.attachments;
    const isHeard = (this.#sessions.get(name)?.revision ?? 0) > 0;
    return {
      prefixes: attachments?.reduce((sum, { prefixes }) => sum + prefixes.length, 0),
      exports: this.#exports.acceptedOf(name),
      rejections: isHeard ? this.#members.rejectionCountOf(name) + this.#exports.rejectionCountOf(name) : undefined,
      report: this.#reports.get(name),
    };
  }

  #connected(name: string): void {
    clearTimeout(this.#graces.get(name));
    this.#graces.delete(name);
    if (this.#presences.connect(name)) this.#sessions.memberChanged(name);
    this.#report(name);
  }

  #disconnected(name: string, graceMs = this.#options.times.graceMs): void {
    const lastSeenMs = this.#options.now();
    this.#presences.disconnect(name, lastSeenMs);
    const end = (): void => {
      this.#graces.delete(name);
      this.#presences.setAbsent(name, lastSeenMs);
      this.#sessions.memberChanged(name);
      this.#report(name);
    };
    this.#graces.set(name, setTimeout(end, graceMs));
  }

  #report(name: string): void {
    const { registry, report } = this.#options;
    const presence = this.#presences.get(name);
    if (registry.member(name) === undefined || presence === undefined) return;
    const isStale = !presence.connected && !this.#members.records.has(name) && registry.isStale(name);
    const state = presence.connected ? 'Connected' : isStale ? 'Stale' : 'Absent';
    const ports = this.#ports.get(name) ?? registry.ports(name);
    const figures = isStale ? nothing : this.#figuresOf(name);
    this.#figures.set(name, figures);
    report(name, { ports, presence: { state, lastSeenMs: presence.lastSeenMs }, figures });
  }

  #dropStale(): void {
    const { now, times, registry, report, log } = this.#options;
    const unreachable = new Map(Array.from(this.#sessions.entries(), ([name, open]) => [name, open.unreachable]));
    const { staleAfterMs } = times;
    for (const [name, sinceMs] of this.#presences.giveUp(unreachable, { nowMs: now(), staleAfterMs })) {
      clearTimeout(this.#graces.get(name));
      this.#graces.delete(name);
      log.warn(
        { cluster: name },
        'the member has had no session for a long time, and no other member reaches it: its rows are removed, its membership remains',
      );
      const presence = { state: 'Stale', lastSeenMs: sinceMs } as const;
      report(name, { ports: this.#ports.get(name) ?? registry.ports(name), presence, figures: nothing });
      this.#members.drop(name);
      this.#exports.drop(name);
      this.#pods.drop(name);
    }
  }

  /** Starts the time of retiring paths, once every member with a port on them has received the update. */
  #retire(): void {
    const { networks, times, log } = this.#options;
    for (const network of networks.values()) {
      for (const { index, switch: pathSwitch, retiring } of network.switches) {
        if (!retiring || this.#retirements.has(pathSwitch)) continue;
        const attached = [...this.#members.records.attached(network.name)];
        if (!attached.every((name) => this.#sessions.knowsOfEnd(name, pathSwitch))) continue;
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

  #member(name: string, receiver: string, shared: ReadonlySet<string>): Member | undefined {
    const { records } = this.#members;
    const foreign = records.foreign(name);
    const networkOf = (pathSwitch: string) => this.#options.networks.path(pathSwitch)?.network;
    if (foreign !== undefined) return foreignOf(foreign, shared, networkOf);
    const record = records.held(name);
    return record === undefined ? undefined : this.#views.view(record, this.#presences.shown(name), receiver, shared);
  }
}

function isSame(a: MemberFigures | undefined, b: MemberFigures): boolean {
  return (
    a?.prefixes === b.prefixes && a?.exports === b.exports && a?.rejections === b.rejections && a?.report === b.report
  );
}
