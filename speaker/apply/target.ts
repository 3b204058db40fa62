/**
 * The only code that changes gobgpd. In: plans, through `set`. Out: calls to gobgpd, and its reported state after each round, through `onObserved`. A
 * fresh gobgpd gets its peers last; a running gobgpd gets only differences, so that a restart of the speaker sends no UPDATE. gobgpd may end at any
 * time: everything is read again after each connect. Rule: this code never stops or restarts gobgpd.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type GobgpClient, type GobgpError, GobgpIncompatible, GobgpUnreachable, openGobgp } from 'gobgp-js';
import type { SpeakerPlan } from '../plan/plan.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import { quieted } from './quieted.ts';
import type { Received } from '../model/received.ts';
import type { SessionHistory } from '../model/session-history.ts';
import type { TargetOptions } from './options.ts';
import { ReceivedRoutes } from './received.ts';
import { auditMs, Gobgpd } from './gobgpd.ts';

const readyMs = 5000;
/** gobgpd does not report changes of counts; routers start to send their routes a second after the session is established. */
const countsMs = 2500;
/** The longest wait while routes change without a pause. */
const latestCountsMs = 5000;
/** gobgpd is pinged after it was silent for this time. */
const aliveMs = 2000;
/** No back-off: the socket has no other client, and neighbours are waiting. */
const connectMs = 50;

/** The reason for a round; a round without a reason runs after gobgpd was silent for a while. */
type Reason = 'plan' | 'session' | 'lost';

export class GobgpTarget {
  readonly #options: TargetOptions;
  /** Round engine of the connected gobgpd process. */
  #engine: RoundEngine<Reason> | undefined;
  readonly #history = new Map<string, SessionHistory>();
  #plan: SpeakerPlan | undefined;
  /** Prefixes that differ from those applied last. */
  #changed = new Set<string>();
  #isReachable = true;

  constructor(options: TargetOptions) {
    this.#options = options;
  }

  /** Sets the plan to apply from now on. */
  set(plan: SpeakerPlan): void {
    const before = this.#plan;
    this.#plan = plan;
    for (const prefix of plan.changed) this.#changed.add(prefix);
    if (plan.changed.size > 0 || !isDeepStrictEqual(sessionsOf(before), sessionsOf(plan)))
      this.#engine?.request('plan');
  }

  /** Sets the sessions that an earlier speaker process saw: counts continue, and a restart of gobgpd is noticed. */
  remember(history: ReadonlyMap<string, SessionHistory>): void {
    for (const [address, session] of history) this.#history.set(address, session);
  }

  /** Runs until the signal aborts; gobgpd then stays unchanged. */
  async run(signal: AbortSignal): Promise<void> {
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
    const { gobgpd, protoDir, onCall } = this.#options;
    while (!signal.aborted) {
      try {
        return await openGobgp({
          target: gobgpd,
          ...(protoDir !== undefined && { protoDir }),
          ...(onCall && { onCall }),
        });
      } catch (error) {
        if (!(error instanceof GobgpUnreachable || error instanceof GobgpIncompatible)) throw error;
        this.#reportUnreachable(error);
      }
      await sleep(connectMs, undefined, { signal }).catch(() => {});
    }
    return undefined;
  }

  /** Serves one gobgpd process, from connect to its end. @throws GobgpUnreachable */
  async #serve(client: GobgpClient, signal: AbortSignal): Promise<void> {
    let lost: GobgpUnreachable | undefined;
    const engine = new RoundEngine<Reason>({
      run: async ({ keys }) => {
        if (lost) throw lost;
        if (this.#plan) await this.#round(this.#plan, keys, gobgpd, received);
        engine.wakeAfter(Math.min(this.#plan ? gobgpd.untilAuditMs : auditMs, aliveMs));
      },
    });
    const gobgpd = new Gobgpd(client, this.#options, this.#history, (delayMs) => engine.wakeAfter(delayMs, 'session'));
    const countAgain = quieted(countsMs, latestCountsMs, () => engine.request('session'));
    const lose = (error: GobgpError): void => {
      lost = error instanceof GobgpUnreachable ? error : new GobgpUnreachable(this.#options.gobgpd, error.message);
      engine.request('lost');
    };
    const onReceived = (routes: Received): void => {
      this.#options.onReceived(routes);
      countAgain();
    };
    const received = new ReceivedRoutes(client, onReceived, lose);
    const watch = client.watchPeers(() => {
      engine.request('session');
      countAgain();
    });
    // If gobgpd has just frozen, the watch never becomes ready; the deadlines of later calls detect that.
    await Promise.race([watch.ready, sleep(readyMs, undefined, { signal }).catch(() => {})]);
    if (!this.#isReachable) this.#options.log.info({ api: client.generation }, 'gobgpd answers');
    this.#isReachable = true;
    void watch.ended.then(lose);
    this.#engine = engine;
    engine.request('plan');
    try {
      await engine.run(signal);
    } finally {
      this.#engine = undefined;
      received.close();
    }
  }

  /** @throws GobgpUnreachable */
  async #round(
    plan: SpeakerPlan,
    reasons: ReadonlySet<Reason>,
    gobgpd: Gobgpd,
    received: ReceivedRoutes,
  ): Promise<void> {
    // A frozen gobgpd keeps its connections and sends nothing.
    if (reasons.size === 0) await gobgpd.ping();
    const isAudit = gobgpd.untilAuditMs === 0;
    if ((isAudit || reasons.has('plan')) && !gobgpd.isReleasing) {
      const changed = this.#changed;
      this.#changed = new Set();
      this.#options.lag.sent();
      if (await gobgpd.apply(plan, changed, isAudit)) this.#options.lag.answered();
      received.follow(importers(plan));
    }
    if (isAudit || reasons.has('session') || gobgpd.hasNews) {
      const observed = await gobgpd.observe();
      this.#options.onObserved(observed);
      const wasReleasing = gobgpd.isReleasing;
      await gobgpd.revive(plan, observed);
      if (wasReleasing && !(gobgpd.isReleasing as boolean)) this.#engine?.request('plan');
    }
  }

  #reportUnreachable(error: GobgpUnreachable | GobgpIncompatible): void {
    if (this.#isReachable) this.#options.log.warn({ err: error.message }, 'gobgpd does not answer; trying again');
    this.#isReachable = false;
    const problem = { code: 'DaemonUnreachable', message: `${error.message}; see the log of the gobgpd container` };
    this.#options.onObserved({ daemon: { isReachable: false, problem }, sessions: new Map(), refused: new Map() });
  }
}

/** Addresses of the peers whose routes are imported. */
function importers({ peers }: SpeakerPlan): readonly string[] {
  return [...peers.values()].filter((peer) => peer.import !== undefined).map(({ address }) => address);
}

/** The part of a plan other than routes that affects gobgpd; most changes of objects affect only their statuses. */
function sessionsOf(plan: SpeakerPlan | undefined): object | undefined {
  return plan && { instance: plan.instance, peers: plan.peers };
}
