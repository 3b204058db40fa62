/**
 * How fast ovs-vswitchd takes up what is written for it. It configures itself anew after each transaction, which for many ports
 * in one costs little more than for one; in a burst of pods the transactions are paced so that they grow instead of queueing.
 * In: changes of its database. Out: when the next transaction may go.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OvsdbClient } from 'ovsdb-client';
import type { TransactionReader } from '../../lib/desired/ovsdb-target.ts';
import { until } from '../state/until.ts';

/** Longer than it takes for one transaction, and short where it does not run. */
const longestMs = 100;

export class SwitchPace implements TransactionReader {
  /** ovs-vswitchd copies `next_cfg` to `cur_cfg` when it is done: it is what ovs-vsctl waits for, too. */
  readonly mark = { op: 'mutate', table: 'Open_vSwitch', where: [], mutations: [['next_cfg', '+=', 1]] } as const;
  readonly #client: Pick<OvsdbClient, 'cache' | 'subscribe'>;
  readonly #now: () => number;
  #isTakenUp = true;
  #sinceMs = 0;
  /** As long again as it was at work it is left alone. */
  #freeAtMs = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(client: Pick<OvsdbClient, 'cache' | 'subscribe'>, now: () => number = () => performance.now()) {
    this.#client = client;
    this.#now = now;
    client.subscribe(() => this.#look());
  }

  async untilTakenUp(): Promise<void> {
    this.#look();
    const signal = AbortSignal.timeout(longestMs);
    const isDone = (): true | undefined => (this.#isTakenUp ? true : undefined);
    await until([(check) => this.#client.subscribe(check)], isDone, signal).catch((error: unknown) => {
      if (error !== signal.reason) throw error;
    });
    const restMs = Math.min(this.#freeAtMs - this.#now(), longestMs);
    if (restMs > 0) await sleep(restMs);
  }

  #look(): void {
    const [row] = this.#client.cache.table('Open_vSwitch').rows.values();
    const isTakenUp = row === undefined || Number(row['cur_cfg']) >= Number(row['next_cfg']);
    if (isTakenUp === this.#isTakenUp) return;
    this.#isTakenUp = isTakenUp;
    const nowMs = this.#now();
    if (isTakenUp) this.#freeAtMs = nowMs + (nowMs - this.#sinceMs);
    else this.#sinceMs = nowMs;
  }
}
