/**
 * The part of central that every node runs: it reads its copies of the databases, instructs its containers and publishes its report for the other
 * nodes. In: the plan of the ConfigMap, or the kept plan if there is none. Rules: a round depends on no other node; a report that the API server
 * refuses is sent in a later round; only the member whose server leads removes servers.
 */
import { join } from 'node:path';
import type { Logger } from '../../lib/run/logger.ts';
import { planDatabase, type LocalDecision } from '../plan/local.ts';
import { planRemoval } from '../plan/servers.ts';
import { type Backups, type Copy, waitsForScheme } from '../model/copy.ts';
import {
  both,
  type Both,
  clientRemote,
  type DatabaseName,
  databaseNames,
  schemaNames,
  type Scheme,
} from '../model/databases.ts';
import { type Plan } from '../model/plan.ts';
import { newestPlan } from '../settle/newest-plan.ts';
import type { Report, Reports } from '../model/report.ts';
import { planReport } from '../plan/report.ts';
import type { Copies } from '../watch/copies.ts';
import { Instructions, renderInstruction } from './instructions.ts';
import { KeptPlan } from './kept-plan.ts';

/**
 * Time between two rounds while a change is in progress, and otherwise. A change that takes longer than `busyRounds` depends on other nodes or an
 * operator.
 */
const pollMs = { busy: 100, settled: 1000 } as const;
/** Minimum time between two starts of a server whose writes fail. */
const replaceMs = 10_000;
const busyRounds = 300;

export interface MemberOptions {
  readonly node: string;
  readonly address: string;
  readonly scheme: Scheme;
  readonly dataDir: string;
  readonly runDir: string;
  readonly electionTimerMs: number;
  readonly copies: Copies;
  readonly log: Logger;
  /** Current contents of the ConfigMap; undefined before it was read. */
  readonly read: () => { readonly plan: Plan | undefined; readonly reports: Reports } | undefined;
  readonly publish: (report: Report) => void;
}

export class Member {
  readonly #options: MemberOptions;
  readonly #instructions: Instructions;
  readonly #kept: KeptPlan;
  readonly #replacedMs = new Map<DatabaseName, number>();
  readonly #logged = new Map<DatabaseName, string>();
  readonly #removed = new Map<DatabaseName, string>();
  #decisions: Both<LocalDecision> | undefined;
  #copies: Both<Copy> | undefined;
  #backups: Backups = { nb: [], sb: [] };
  #plan: Plan | undefined;
  #busy = 0;

  private constructor(options: MemberOptions, kept: KeptPlan) {
    this.#options = options;
    this.#instructions = new Instructions(options.runDir);
    this.#kept = kept;
    this.#plan = kept.plan;
  }

  static async open(options: MemberOptions): Promise<Member> {
    return new Member(options, await KeptPlan.open(join(options.dataDir, 'central.json')));
  }

  get plan(): Plan | undefined {
    return this.#plan;
  }

  get copies(): Both<Copy> | undefined {
    return this.#copies;
  }

  get backups(): Backups {
    return this.#backups;
  }

  /** What each database of this node waits for. */
  get waits(): Both<string | undefined> {
    return both((name) => this.#decisions?.[name].why);
  }

  get isMember(): boolean {
    return this.#plan?.members[this.#options.node] !== undefined;
  }

  /**
   * A stand-by is always ready; a member is ready when it serves. During a change of TLS it can serve only after all other members have reached the
   * same point.
   */
  get isReady(): boolean {
    if (this.#plan === undefined) return false;
    if (!this.isMember) return true;
    return databaseNames.every((name) => {
      const copy = this.#copies?.[name];
      return copy?.server?.isConnected === true || (copy !== undefined && waitsForScheme(copy, this.#options.scheme));
    });
  }

  /** Reads the state and acts on it. @returns the time until the next round, in milliseconds */
  async round(): Promise<number> {
    const { copies: watch, node, address, scheme, read, publish } = this.#options;
    const copies = await watch.look();
    this.#copies = copies;
    this.#backups = await watch.backups();
    const isFull = await watch.isFull();
    const objects = read();
    const plan = newestPlan(objects?.plan, this.#kept.plan);
    this.#plan = plan;
    if (plan !== undefined) await this.#kept.keep(plan);
    // This node's own report from before its start says nothing about its present state.
    const reports = new Map(objects?.reports);
    reports.delete(node);
    const decisions = both((name) => planDatabase({ name, node, address, scheme, plan, copy: copies[name], reports }));
    this.#decisions = decisions;
    for (const name of databaseNames) await this.#instruct(name, decisions[name], copies[name]);
    await this.#instructNorthd(plan);
    const generation = plan?.generation ?? 0;
    const lost = both((name) => decisions[name].lost);
    publish(planReport({ address, generation, copies, lost, isFull, backups: this.#backups, reports }));
    if (plan !== undefined) for (const name of databaseNames) await this.#lead(name, plan, copies[name], reports);
    this.#busy = this.#isSettled() ? 0 : this.#busy + 1;
    return this.#busy > 0 && this.#busy <= busyRounds ? pollMs.busy : pollMs.settled;
  }

  async #instruct(name: DatabaseName, { instruction, why, isSpent }: LocalDecision, { server }: Copy): Promise<void> {
    const { log } = this.#options;
    const text = `${instruction.verb}: ${why ?? ''}`;
    if (this.#logged.get(name) !== text) log.info({ database: name, do: instruction.verb, why }, 'database');
    if (this.#logged.get(name) !== text) this.#busy = 0;
    this.#logged.set(name, text);
    const isNew = await this.#instructions.write(name, renderInstruction(instruction));
    const { verb } = instruction;
    if (isSpent === true) await this.#replace(name);
    if (verb === 'serve' || verb === 'join') return;
    // A server that was removed from its cluster keeps running and does not report it. A server that is still creating its database must not be
    // ended.
    if (verb !== 'create' || isNew || server !== undefined) await this.#instructions.end(name);
  }

  /** Ends the server; the container starts the next one. Not again immediately: the cause of the failure may last. */
  async #replace(name: DatabaseName): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - (this.#replacedMs.get(name) ?? -replaceMs) < replaceMs) return;
    this.#replacedMs.set(name, nowMs);
    await this.#instructions.end(name);
  }

  /** Only one northd of the members is active, by a lock in the southbound database. */
  async #instructNorthd(plan: Plan | undefined): Promise<void> {
    const { node, scheme } = this.#options;
    const isFounded = plan !== undefined && databaseNames.every((name) => plan.clusters[name] !== undefined);
    const members = isFounded && plan.members[node] !== undefined ? Object.values(plan.members) : [];
    const remotes = (name: DatabaseName) => members.map((address) => clientRemote(scheme, name, address)).join(',');
    const text = members.length === 0 ? '' : `${remotes('nb')}\n${remotes('sb')}\n`;
    if (await this.#instructions.write('northd', text)) await this.#instructions.end('northd');
  }

  async #lead(name: DatabaseName, plan: Plan, { server }: Copy, reports: Reports): Promise<void> {
    const { scheme, log, electionTimerMs } = this.#options;
    if (server?.role !== 'leader') return;
    const database = schemaNames[name];
    try {
      if (server.electionTimerMs > 0 && server.electionTimerMs !== electionTimerMs) {
        // The server accepts at most twice the present value.
        const next = Math.min(electionTimerMs, server.electionTimerMs * 2);
        await this.#instructions.command(name, 'cluster/change-election-timer', [database, String(next)]);
      }
      const removal = planRemoval({ name, scheme, plan, server, reports });
      if (removal === undefined) return;
      const { sid, address, isSelf } = removal.server;
      const text = `${sid} ${removal.why}`;
      if (this.#removed.get(name) !== text) log.info({ database: name, server: sid, address, why: removal.why }, 'out');
      this.#removed.set(name, text);
      if (isSelf) await this.#instructions.command(name, 'cluster/leave', [database]);
      else await this.#instructions.command(name, 'cluster/kick', [database, sid]);
    } catch (error) {
      // The server no longer leads, or is busy with another change: a later round tries again.
      log.debug({ database: name, error: (error as Error).message }, 'the leader refused');
    }
  }

  #isSettled(): boolean {
    if (this.#plan === undefined) return false;
    return databaseNames.every((name) => {
      const { instruction, why } = this.#decisions?.[name] ?? { instruction: { verb: 'wait' }, why: '' };
      if (!this.isMember) return instruction.verb === 'wait';
      return instruction.verb === 'serve' && why === undefined && this.#copies?.[name].server?.isConnected === true;
    });
  }
}
