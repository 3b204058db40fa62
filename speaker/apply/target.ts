// The one place that changes gobgpd: a plan comes in by `set`, calls to gobgpd go out, and what gobgpd then says is handed to `onObserved`.
// A fresh gobgpd is started with its peers last; a living one gets only differences, so that a restart of the speaker sends no UPDATE.
// gobgpd may end at any time: everything is read anew after each connect. Rule: never stop or restart gobgpd from here.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../../lib/desired/problem.ts';
import {
  type GobgpClient,
  type GobgpError,
  GobgpIncompatible,
  GobgpRejected,
  GobgpUnreachable,
  openGobgp,
} from 'gobgp-js';
import { backoffMs } from '../../lib/run/backoff.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { SpeakerPlan } from '../plan/plan.ts';
import { joined } from '../state/joined.ts';
import type { Received } from '../state/learned.ts';
import type { SessionHistory } from '../state/history.ts';
import type { Observed } from '../state/observed.ts';
import { applySteps } from './apply.ts';
import { programmedBySteps, readProgrammed } from './programmed.ts';
import { ReceivedRoutes } from './received.ts';
import { readSessions } from './sessions.ts';
import { diffSteps, isSameGlobal, type Programmed } from './steps.ts';
import { Wakeup } from './wakeup.ts';

export interface TargetOptions {
  /** gobgpd's API: `unix:/path` or `host:port`. */
  readonly gobgpd: string;
  readonly protoDir?: string | undefined;
  readonly log: Logger;
  readonly random: () => number;
  readonly monotonicMs: () => number;
  readonly onObserved: (observed: Observed) => void;
  /** What routers announce changed; the same map, which goes on changing. */
  readonly onReceived: (received: Received) => void;
}

const auditMs = 60_000;
const readyMs = 5000;
/** gobgpd tells of no counts; routers begin to send their routes a second after the session is there. */
const countsMs = 2500;
const connectBackoff = { baseMs: 250, maxMs: 2000 } as const;
const rejectedBackoff = { baseMs: 1000, maxMs: 30_000 } as const;

export class GobgpTarget {
  readonly #options: TargetOptions;
  readonly #wakeup = new Wakeup();
  /** Addresses that had a session when gobgpd was last seen. */
  readonly #established = new Set<string>();
  readonly #history = new Map<string, SessionHistory>();
  #plan: SpeakerPlan | undefined;
  /** Prefixes that differ from what was last applied. */
  #changed = new Set<string>();
  #isReachable = true;

  constructor(options: TargetOptions) {
    this.#options = options;
  }

  /** Wants this from now on. */
  set(plan: SpeakerPlan): void {
    const before = this.#plan;
    this.#plan = plan;
    for (const prefix of plan.changed) this.#changed.add(prefix);
    if (plan.changed.size > 0 || !isDeepStrictEqual(sessionsOf(before), sessionsOf(plan))) this.#wakeup.wake('plan');
  }

  /** Sessions an earlier speaker process saw: counts go on, and gobgpd may be found restarted. */
  remember(history: ReadonlyMap<string, SessionHistory>): void {
    for (const [address, session] of history) {
      this.#history.set(address, session);
      if (session.isUp) this.#established.add(address);
    }
  }

  /** Works until the signal aborts; gobgpd stays as it is then. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wakeup.wake('stop'), { once: true });
    while (!signal.aborted) {
      const client = await this.#connect(signal);
      if (!client) return;
      try {
        await this.#serve(client, signal);
      } catch (error) {
        if (!(error instanceof GobgpUnreachable)) throw error;
        this.#reportUnreachable(error);
      } finally {
        client.close();
      }
    }
  }

  async #connect(signal: AbortSignal): Promise<GobgpClient | undefined> {
    const { gobgpd, protoDir, random } = this.#options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return await openGobgp({ target: gobgpd, ...(protoDir !== undefined && { protoDir }) });
      } catch (error) {
        if (!(error instanceof GobgpUnreachable || error instanceof GobgpIncompatible)) throw error;
        this.#reportUnreachable(error);
      }
      const delayMs = Math.max(connectBackoff.baseMs, backoffMs(attempt, connectBackoff, random));
      await sleep(delayMs, undefined, { signal }).catch(() => {});
    }
    return undefined;
  }

  /** One gobgpd process, from connect to its end. */
  async #serve(client: GobgpClient, signal: AbortSignal): Promise<void> {
    const countAgain = joined(countsMs, () => this.#wakeup.wake('session'));
    const watch = client.watchPeers(() => {
      this.#wakeup.wake('session');
      countAgain();
    });
    let lost: GobgpUnreachable | undefined;
    // A gobgpd that froze just now never gets ready; the calls that follow have deadlines and will tell.
    await Promise.race([watch.ready, sleep(readyMs, undefined, { signal }).catch(() => {})]);
    if (!this.#isReachable) this.#options.log.info({ api: client.generation }, 'gobgpd answers');
    this.#isReachable = true;
    const round = new Round(client, this.#options, this.#established, this.#history);
    const lose = (error: GobgpError): void => {
      lost = error instanceof GobgpUnreachable ? error : new GobgpUnreachable(this.#options.gobgpd, error.message);
      this.#wakeup.wake('lost');
    };
    const onReceived = (routes: Received): void => {
      this.#options.onReceived(routes);
      countAgain();
    };
    const received = new ReceivedRoutes(client, onReceived, lose);
    void watch.ended.then(lose);
    this.#wakeup.wake('plan');
    try {
      await this.#turn(round, received, signal, () => lost);
    } finally {
      received.close();
    }
  }

  /** Turns until the signal aborts or gobgpd is lost. */
  async #turn(
    round: Round,
    received: ReceivedRoutes,
    signal: AbortSignal,
    lost: () => GobgpUnreachable | undefined,
  ): Promise<void> {
    for (;;) {
      const reasons = await this.#wakeup.next(this.#plan ? round.untilAuditMs : auditMs);
      if (signal.aborted) return;
      const loss = lost();
      if (loss) throw loss;
      if (!this.#plan) continue;
      const isAudit = round.untilAuditMs === 0;
      if (isAudit || reasons.has('plan')) {
        const changed = this.#changed;
        this.#changed = new Set();
        await round.apply(this.#plan, changed, isAudit);
        received.follow(importers(this.#plan));
      }
      if (isAudit || reasons.has('session') || round.hasNews) this.#options.onObserved(await round.observe());
    }
  }

  #reportUnreachable(error: GobgpUnreachable | GobgpIncompatible): void {
    if (this.#isReachable) this.#options.log.warn({ err: error.message }, 'gobgpd does not answer; trying again');
    this.#isReachable = false;
    const problem = { code: 'DaemonUnreachable', message: `${error.message}; see the log of the gobgpd container` };
    this.#options.onObserved({ daemon: { isReachable: false, problem }, sessions: new Map(), refused: new Map() });
  }
}

/** Addresses of the peers whose routes are wanted. */
function importers({ peers }: SpeakerPlan): readonly string[] {
  return [...peers.values()].filter((peer) => peer.import !== undefined).map(({ address }) => address);
}

/** The work on one gobgpd process, which has what `#programmed` says since the last look. */
class Round {
  readonly #client: GobgpClient;
  readonly #options: TargetOptions;
  readonly #established: Set<string>;
  #programmed: Programmed | undefined;
  #refused: ReadonlyMap<string, Problem> = new Map();
  #problem: Problem | undefined;
  #failures = 0;
  #auditAt = 0;
  #hasNews = true;
  readonly #history: Map<string, SessionHistory>;

  constructor(
    client: GobgpClient,
    options: TargetOptions,
    established: Set<string>,
    history: Map<string, SessionHistory>,
  ) {
    this.#history = history;
    this.#client = client;
    this.#options = options;
    this.#established = established;
  }

  /** 0 when it is time to look at everything again without being asked. */
  get untilAuditMs(): number {
    return Math.max(0, this.#auditAt - this.#options.monotonicMs());
  }

  /** Whether there is more to tell than that paths were sent. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  /**
   * @param changed prefixes whose route is another than at the last call
   * @param isAudit reads everything anew, which finds what others changed
   */
  async apply(plan: SpeakerPlan, changed: ReadonlySet<string>, isAudit: boolean): Promise<void> {
    const problem = this.#problem;
    try {
      const known = isAudit ? undefined : this.#programmed;
      this.#programmed = undefined;
      const before = known ?? (await readProgrammed(this.#client));
      const steps = diffSteps(plan, before, known && changed);
      if (steps) {
        this.#refused = await applySteps(this.#client, steps, (address) => this.#established.has(address));
        this.#programmed = programmedBySteps(steps, before, new Set(this.#refused.keys()));
        this.#hasNews ||= steps.addPeers.length + steps.updatePeers.length + steps.deletePeers.length > 0;
      }
      this.#problem = restartNeeded(plan, this.#programmed);
      this.#failures = this.#refused.size > 0 ? this.#failures + 1 : 0;
    } catch (error) {
      if (!(error instanceof GobgpRejected)) throw error;
      this.#options.log.error({ err: error.message }, 'gobgpd refused a call; trying again');
      this.#problem = { code: 'Rejected', message: error.message };
      this.#failures += 1;
    }
    this.#hasNews ||= !isDeepStrictEqual(problem, this.#problem);
    if (isAudit || this.#failures > 0) this.#scheduleAudit();
  }

  #scheduleAudit(): void {
    const { monotonicMs, random } = this.#options;
    this.#auditAt =
      monotonicMs() +
      (this.#failures === 0 ? auditMs : rejectedBackoff.baseMs + backoffMs(this.#failures, rejectedBackoff, random));
  }

  async observe(): Promise<Observed> {
    this.#hasNews = false;
    const sessions = await readSessions(this.#client, this.#history);
    for (const [address, { state }] of sessions) {
      if (state === 'Established') this.#established.add(address);
      else this.#established.delete(address);
    }
    const version = this.#client.generation === 'v4' ? '4.x' : '3.x';
    return {
      daemon: { isReachable: true, version, ...(this.#problem && { problem: this.#problem }) },
      sessions,
      refused: this.#refused,
    };
  }
}

/** The part of a plan that gobgpd sees besides routes; most changes of objects are of their statuses and change nothing here. */
function sessionsOf(plan: SpeakerPlan | undefined): object | undefined {
  return plan && { instance: plan.instance, peers: plan.peers };
}

/** gobgpd takes AS, router ID and port once in its life, and ending it drops every session: that moment is the operator's choice. */
function restartNeeded(plan: SpeakerPlan, programmed: Programmed | undefined): Problem | undefined {
  const { instance } = plan;
  const running = programmed?.global;
  if (!instance || !running || isSameGlobal(instance, running)) return undefined;
  const text = (global: { asn: number; routerId: string; listenPort: number }) =>
    `AS ${global.asn}, router ID ${global.routerId}, port ${global.listenPort}`;
  return {
    code: 'RestartNeeded',
    message: `gobgpd runs with ${text(running)}, wanted is ${text(instance)}; restart gobgpd on this node (delete its speaker pod) to change it`,
  };
}
