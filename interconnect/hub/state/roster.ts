/**
 * The members of this hub: what each asked for, what it was given, who is connected.
 *
 * In: records read back at start, sessions, foreign zones. Out: desired rows to the target; to each session, once
 * these are in the databases, what it got and what the others are. A member's rows stay when its session ends.
 */
import type { Desired } from '../../../lib/desired/row.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Member, MemberState, Rejection } from '../../link/messages.ts';
import type { MemberSession } from '../../link/server.ts';
import { admit, holdingsOf } from '../plan/admission.ts';
import { memberOwner, planMember } from '../plan/rows.ts';
import { memberOf, switchesFor, updateFor, type Presence, type View } from '../plan/view.ts';
import type { ForeignMember, MemberRecord, TransitNetwork } from './record.ts';

export interface RosterOptions {
  readonly network: () => TransitNetwork;
  readonly target: {
    set(owner: string, desired: Desired): void;
    drop(owner: string): void;
    untilApplied(): Promise<void>;
  };
  readonly now: () => number;
  /** A session that is back within this time was never away: an agent or the hub that starts again is no news. */
  readonly graceMs: number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

interface Open {
  readonly session: MemberSession;
  wish: MemberState | undefined;
  sent: View | undefined;
}

const present: Presence = { connected: true, lastSeenMs: 0 };

export class Roster {
  readonly #options: RosterOptions;
  readonly #records = new Map<string, MemberRecord>();
  readonly #presence = new Map<string, Presence>();
  readonly #absences = new Map<string, NodeJS.Timeout>();
  readonly #rejections = new Map<string, readonly Rejection[]>();
  readonly #refused = new Map<string, Problem>();
  readonly #sessions = new Map<string, Open>();
  /** What the others were last shown, so that an unchanged member stays the same object. */
  readonly #shown = new Map<
    string,
    { record: MemberRecord; presence: Presence; network: TransitNetwork; member: Member }
  >();
  #foreign: readonly ForeignMember[] = [];
  #isPublishing = false;
  #isStale = false;

  constructor(options: RosterOptions, records: ReadonlyMap<string, MemberRecord>) {
    this.#options = options;
    for (const [name, record] of records) {
      this.#presence.set(name, present);
      this.#miss(name);
      this.#give(record);
    }
  }

  has(name: string): boolean {
    return this.#records.has(name);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  get members(): number {
    return this.#records.size;
  }

  setForeign(foreign: readonly ForeignMember[]): void {
    if (JSON.stringify(foreign) === JSON.stringify(this.#foreign)) return;
    // Unchanged zones stay the same object, so that sessions are told of the changed ones only.
    const before = new Map(this.#foreign.map((member) => [member.name, member]));
    this.#foreign = foreign.map((member) => {
      const old = before.get(member.name);
      return old !== undefined && JSON.stringify(old) === JSON.stringify(member) ? old : member;
    });
    this.#reconsider();
    this.#publish();
  }

  /** The newest session of a cluster counts: an agent that took over need not wait for the old one's end. */
  open(session: MemberSession): void {
    const name = session.caller.cluster;
    const open: Open = { session, wish: undefined, sent: undefined };
    const older = this.#sessions.get(name);
    this.#sessions.set(name, open);
    older?.session.refuse({ code: 'SessionReplaced', message: `a newer session of ${name} has taken over` });
    this.#meet(name);
    this.#options.log.info({ cluster: name }, 'session opened');
    session.onState((state) => {
      if (this.#sessions.get(name) !== open) return;
      open.wish = state;
      this.#plan(name, state);
      this.#reconsider(name);
      this.#publish();
    });
    // Before it says anything: an agent that started again has to know its ports to tell who holds them.
    this.#publish();
    session.onEnd(() => {
      if (this.#sessions.get(name) !== open) return;
      this.#sessions.delete(name);
      this.#options.log.info({ cluster: name }, 'session ended');
      this.#miss(name);
    });
  }

  /** Resolves when no row of the member is left. */
  async remove(name: string): Promise<void> {
    const open = this.#sessions.get(name);
    this.#sessions.delete(name);
    open?.session.refuse({ code: 'NotAMember', message: `${name} has left` });
    clearTimeout(this.#absences.get(name));
    for (const map of [this.#absences, this.#records, this.#presence, this.#rejections, this.#refused, this.#shown])
      map.delete(name);
    this.#options.target.drop(memberOwner(name));
    this.#reconsider();
    await this.#options.target.untilApplied();
    this.#publish();
  }

  /** The target's word on a member's rows. */
  result(name: string, problem: Problem | undefined): void {
    if (problem === undefined) this.#refused.delete(name);
    else this.#refused.set(name, problem);
  }

  close(): void {
    for (const timer of this.#absences.values()) clearTimeout(timer);
  }

  #meet(name: string): void {
    clearTimeout(this.#absences.get(name));
    this.#absences.delete(name);
    if (this.#presence.get(name)?.connected !== true) this.#presence.set(name, present);
  }

  #miss(name: string): void {
    const lastSeenMs = this.#options.now();
    const tell = (): void => {
      this.#absences.delete(name);
      this.#presence.set(name, { connected: false, lastSeenMs });
      this.#publish();
    };
    this.#absences.set(name, setTimeout(tell, this.#options.graceMs));
  }

  #plan(name: string, wish: MemberState): void {
    const network = this.#options.network();
    const holdings = holdingsOf(name, this.#records.values(), this.#foreign, network);
    const { record, rejections } = admit(name, wish, this.#records.get(name), holdings, network);
    const known = JSON.stringify(this.#rejections.get(name) ?? []);
    if (rejections.length > 0 && JSON.stringify(rejections) !== known)
      this.#options.log.warn({ cluster: name, rejections }, 'refused a part of what a member asked for');
    this.#rejections.set(name, rejections);
    if (record !== undefined) this.#give(record);
  }

  #give(record: MemberRecord): void {
    const before = this.#records.get(record.name);
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(record)) return;
    this.#records.set(record.name, record);
    this.#options.target.set(memberOwner(record.name), planMember(record, this.#options.network()));
  }

  /** What was refused may be free now. */
  #reconsider(except?: string): void {
    for (const [name, { wish }] of this.#sessions) {
      if (name === except || wish === undefined || (this.#rejections.get(name) ?? []).length === 0) continue;
      this.#plan(name, wish);
    }
  }

  #publish(): void {
    this.#isStale = true;
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    void this.#publishAll();
  }

  /** Members are told of nothing that the databases do not hold yet. */
  async #publishAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      const views = [...this.#sessions].map(([name, open]) => ({ name, open, revision: open.wish?.revision ?? 0 }));
      const shown = new Map(this.#records);
      const rejections = new Map(this.#rejections);
      await this.#options.target.untilApplied();
      const members = this.#members(shown);
      for (const { name, open, revision } of views) {
        if (this.#sessions.get(name) !== open) continue;
        // A port is allocated once: it stays what it was while a later change of its member is refused.
        const hasPort = !this.#refused.has(name) || this.#shown.has(name);
        const switches = switchesFor(hasPort ? shown.get(name) : undefined, this.#options.network());
        const view = {
          revision,
          switches,
          members,
          rejections: [...(rejections.get(name) ?? []), ...this.#databaseRefusal(name)],
        };
        const update = updateFor(name, open.sent, view);
        open.sent = view;
        if (update !== undefined) open.session.send(update);
      }
    }
    this.#isPublishing = false;
  }

  #databaseRefusal(name: string): readonly Rejection[] {
    const problem = this.#refused.get(name);
    return problem === undefined
      ? []
      : [{ kind: 'member', value: name, code: problem.code, message: problem.message, holder: '' }];
  }

  #members(records: ReadonlyMap<string, MemberRecord>): ReadonlyMap<string, Member> {
    const members = new Map<string, Member>(this.#foreign.map((member) => [member.name, member]));
    const network = this.#options.network();
    for (const [name, record] of records) {
      const shown = this.#shown.get(name);
      const presence = this.#presence.get(name) ?? present;
      if (this.#refused.has(name)) {
        if (shown !== undefined) members.set(name, shown.member);
        continue;
      }
      const isSame = shown?.record === record && shown.presence === presence && shown.network === network;
      const member = isSame ? shown.member : memberOf(record, presence, network);
      if (!isSame) this.#shown.set(name, { record, presence, network, member });
      members.set(name, member);
    }
    return members;
  }
}
