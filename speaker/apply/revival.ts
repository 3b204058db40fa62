// Sessions that gobgpd would leave down for longer than need be. After a session it waits five seconds before it dials or answers, which no
// setting changes; a peer that is made anew waits two at most. A session that exceeded its limit of prefixes stays down for good.
import type { GobgpClient, PeerConfig } from 'gobgp-js';
import type { SpeakerPlan } from '../plan/plan.ts';
import type { ObservedSession } from '../state/observed.ts';

/** A neighbour that ends sessions as soon as they begin is left to gobgpd's own pace. */
const shortestMs = 2000;

export class Revival {
  readonly #client: GobgpClient;
  readonly #monotonicMs: () => number;
  /** Something is to be looked at again, after this time. */
  readonly #wakeAfter: (delayMs: number) => void;
  readonly #upSinceMs = new Map<string, number>();
  readonly #overLimitSinceMs = new Map<string, number>();

  constructor(client: GobgpClient, monotonicMs: () => number, wakeAfter: (delayMs: number) => void) {
    this.#client = client;
    this.#monotonicMs = monotonicMs;
    this.#wakeAfter = wakeAfter;
  }

  /**
   * Makes peers anew that just lost their session, and enables those that paid for their prefixes.
   * @param configs of gobgpd's peers by address
   * @returns whether anything was done
   * @throws GobgpUnreachable | GobgpRejected
   */
  async look(
    plan: SpeakerPlan,
    sessions: ReadonlyMap<string, ObservedSession>,
    configs: ReadonlyMap<string, PeerConfig>,
  ): Promise<boolean> {
    let isDone = false;
    for (const [address, session] of sessions) {
      const config = configs.get(address);
      const lasted = this.#lasted(address, session);
      if (config && session.isOverLimit) isDone = (await this.#forgive(plan, address)) || isDone;
      else this.#overLimitSinceMs.delete(address);
      if (!config || session.isOverLimit || lasted === undefined || lasted < shortestMs) continue;
      await this.#client.deletePeer(address);
      await this.#client.addPeer(config);
      isDone = true;
    }
    return isDone;
  }

  /** How long the session lasted that ended just now. */
  #lasted(address: string, { state }: ObservedSession): number | undefined {
    const nowMs = this.#monotonicMs();
    const since = this.#upSinceMs.get(address);
    if (state === 'Established') {
      this.#upSinceMs.set(address, since ?? nowMs);
      return undefined;
    }
    this.#upSinceMs.delete(address);
    return since === undefined ? undefined : nowMs - since;
  }

  async #forgive(plan: SpeakerPlan, address: string): Promise<boolean> {
    const limit = plan.peers.get(address)?.maximumPrefixes;
    if (!limit) return false;
    const nowMs = this.#monotonicMs();
    const since = this.#overLimitSinceMs.get(address);
    const restartMs = limit.restartSeconds * 1000;
    if (since === undefined) {
      this.#overLimitSinceMs.set(address, nowMs);
      this.#wakeAfter(restartMs);
      return false;
    }
    if (nowMs - since < restartMs) return false;
    this.#overLimitSinceMs.delete(address);
    await this.#client.enablePeer(address);
    return true;
  }
}
