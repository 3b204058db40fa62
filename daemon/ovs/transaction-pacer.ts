/**
 * Decides when the next transaction for ovs-vswitchd may go. After each transaction ovs-vswitchd reconfigures itself, and ovn-controller and
 * northd follow; for many ports in one transaction that costs little more than for one port. So in a burst of pods the transactions grow
 * instead of queueing. The reconciler asks before each transaction; the answer follows from the database and from pending ports.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { TransactionReader } from '../../lib/desired/ovsdb-target.ts';
import type { PendingPorts } from './pending-ports.ts';
import { waitAtMost } from '../../lib/run/wait-until.ts';
import { switchConfig } from './local.ts';

/** Longer than either wait takes, and short enough if ovs-vswitchd does not run. */
const longestMs = 100;

export class TransactionPacer implements TransactionReader {
  readonly mark = { op: 'mutate', table: 'Open_vSwitch', where: [], mutations: [['next_cfg', '+=', 1]] } as const;
  readonly #client: Pick<OvsdbClient, 'cache' | 'subscribe'>;
  readonly #pendingPorts: Pick<PendingPorts, 'untilNone'>;

  constructor(client: Pick<OvsdbClient, 'cache' | 'subscribe'>, pendingPorts: Pick<PendingPorts, 'untilNone'>) {
    this.#client = client;
    this.#pendingPorts = pendingPorts;
  }

  async untilTakenUp(): Promise<void> {
    const isTakenUp = (): boolean => {
      const { asked, done } = switchConfig(this.#client);
      return done >= asked;
    };
    await waitAtMost([(check) => this.#client.subscribe(check)], isTakenUp, longestMs);
    await this.#pendingPorts.untilNone(longestMs);
  }
}
