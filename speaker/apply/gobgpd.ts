import { isDeepStrictEqual } from 'node:util';
import type { GobgpClient } from 'gobgp-js';
import type { Problem } from '../../lib/desired/problem.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import type { SpeakerPlan } from '../plan/plan.ts';
import type { SessionHistory } from '../model/session-history.ts';
import type { Observed, ObservedSession } from '../model/observed.ts';
import { applySteps, refusalOf } from './apply-steps.ts';
import { programmedBySteps, readProgrammed } from './programmed.ts';
import { Release } from '../settle/release.ts';
import { Revival } from '../settle/revival.ts';
import { readSessions } from './sessions.ts';
import { diffSteps, isSameGlobal, type Programmed, type Steps } from './steps.ts';
import type { TargetOptions } from './options.ts';

/** Time between two audits, which read everything from gobgpd again. */
export const auditMs = 60_000;
/** Time between two readings of a gobgpd process that holds back routes. */
const lookAgainMs = 100;
const rejectedBackoff = { baseMs: 1000, maxMs: 30_000 } as const;

/** One gobgpd process; `#programmed` is its configuration and its paths as of the last reading or change. */
export class Gobgpd {
  readonly #client: GobgpClient;
  readonly #options: TargetOptions;
  #programmed: Programmed | undefined;
  #refused: ReadonlyMap<string, Problem> = new Map();
  #problem: Problem | undefined;
  #failures = 0;
  #auditAt = 0;
  #hasNews = true;
  readonly #history: Map<string, SessionHistory>;

  readonly #revival = new Revival();
  readonly #release = new Release();
  /** Reads the sessions again after this time. */
  readonly #wakeAfter: (delayMs: number) => void;

  constructor(
    client: GobgpClient,
    options: TargetOptions,
    history: Map<string, SessionHistory>,
    wakeAfter: (delayMs: number) => void,
  ) {
    this.#client = client;
    this.#options = options;
    this.#history = history;
    this.#wakeAfter = wakeAfter;
  }

  /** Time until the next audit; 0 when it is due. */
  get untilAuditMs(): number {
    return this.isReleasing ? auditMs : Math.max(0, this.#auditAt - this.#options.monotonicMs());
  }

  /** Whether changes have to wait. */
  get isReleasing(): boolean {
    return this.#release.isGoingOn;
  }

  /** Whether anything other than paths has changed since the last `observe`. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  /**
   * @param changed prefixes whose route differs from that at the last call
   * @param isAudit reads everything again, which detects changes by other programs
   * @returns whether gobgpd accepted the plan
   */
  async apply(plan: SpeakerPlan, changed: ReadonlySet<string>, isAudit: boolean): Promise<boolean> {
    const problem = this.#problem;
    const isKnown = this.#programmed !== undefined;
    let isTaken = false;
    try {
      const known = isAudit ? undefined : this.#programmed;
      this.#programmed = undefined;
      const before = known ?? (await readProgrammed(this.#client));
      const steps = diffSteps(plan, before, known && changed);
      if (isKnown && isAudit)
        this.#options.onAudit(steps ? prefixesOf(steps).filter((each) => !changed.has(each)).length : 0);
      if (steps) {
        this.#refused = await applySteps(this.#client, steps, (address) => this.#history.get(address)?.isUp === true);
        // A later peer at this address is unrelated to the former one.
        for (const address of steps.deletePeers) this.#history.delete(address);
        this.#programmed = programmedBySteps(steps, before, new Set(this.#refused.keys()));
        this.#hasNews ||= steps.addPeers.length + steps.updatePeers.length + steps.deletePeers.length > 0;
      }
      this.#problem = restartNeeded(plan, this.#programmed);
      this.#failures = this.#refused.size > 0 ? this.#failures + 1 : 0;
      isTaken = true;
    } catch (error) {
      this.#problem = refusalOf(error);
      this.#options.log.error({ err: this.#problem.message }, 'gobgpd refused a call; trying again');
      this.#failures += 1;
    }
    this.#hasNews ||= !isDeepStrictEqual(problem, this.#problem);
    if (isAudit || this.#failures > 0) this.#scheduleAudit();
    return isTaken;
  }

  /** @throws GobgpUnreachable */
  async ping(): Promise<void> {
    await this.#client.getBgp();
  }

  #scheduleAudit(): void {
    const { monotonicMs, random } = this.#options;
    this.#auditAt =
      monotonicMs() +
      (this.#failures === 0 ? auditMs : rejectedBackoff.baseMs + backoffMs(this.#failures, rejectedBackoff, random));
  }

  async observe(): Promise<Observed> {
    this.#hasNews = false;
    const sessions = await readSessions(this.#client, this.#history, this.#options.monotonicMs());
    const version = this.#client.generation === 'v4' ? '4.x' : '3.x';
    return {
      daemon: { isReachable: true, version, ...(this.#problem && { problem: this.#problem }) },
      sessions,
      refused: this.#refused,
    };
  }

  /** Restores sessions that gobgpd would leave down; called after `observe`, whose result has the reasons. */
  async revive(plan: SpeakerPlan, { sessions }: Observed): Promise<void> {
    try {
      for (const address of this.#release.look(sessions))
        await this.#client.resetPeer(address, { soft: true, direction: 'out' });
      // gobgpd does not report when it stops holding back routes.
      if (this.#release.isGoingOn) this.#wakeAfter(lookAgainMs);
      for (const [address, session] of sessions) await this.#mend(plan, address, session);
    } catch (error) {
      this.#options.log.warn({ err: refusalOf(error).message }, 'a peer could not be recreated');
      this.#programmed = undefined;
    }
  }

  async #mend(plan: SpeakerPlan, address: string, session: ObservedSession): Promise<void> {
    const config = this.#programmed?.peers.get(address);
    const peer = { isPeer: config !== undefined, prefixes: plan.peers.get(address)?.maximumPrefixes };
    const remedy = this.#revival.judge(address, session, peer, this.#options.monotonicMs());
    if (remedy === 'enable') await this.#client.enablePeer(address);
    else if (remedy === 'remake' && config !== undefined) {
      await this.#client.deletePeer(address);
      await this.#client.addPeer(config);
    } else if (typeof remedy === 'object') this.#wakeAfter(remedy.againMs);
  }
}

function prefixesOf({ withdraw, addPaths }: Steps): readonly string[] {
  return [...withdraw, ...addPaths.map(({ prefix }) => prefix)];
}

/** gobgpd accepts AS, router ID and port only once, and a restart drops every session: the operator chooses when to restart it. */
function restartNeeded(plan: SpeakerPlan, programmed: Programmed | undefined): Problem | undefined {
  const { instance } = plan;
  const running = programmed?.global;
  if (!instance || !running || isSameGlobal(instance, running)) return undefined;
  const text = (global: { asn: number; routerId: string; listenPort: number }) =>
    `AS ${global.asn}, router ID ${global.routerId}, port ${global.listenPort}`;
  return {
    code: 'RestartNeeded',
    message: `gobgpd runs with ${text(running)}, but the BgpInstance requires ${text(instance)}; restart gobgpd on this node (delete its speaker pod) to change it`,
  };
}
