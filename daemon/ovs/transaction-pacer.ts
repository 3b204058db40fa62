/**
 * When the next transaction for ovs-vswitchd may go. It configures itself anew after each, and ovn-controller and northd follow: for many
 * ports in one that costs little more than for one port. In a burst of pods the transactions grow instead of queueing.
 * In: changes of the database, and word of ports that are about to come. Called by the reconciler before each transaction.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { TransactionReader } from '../../lib/desired/ovsdb-target.ts';
import type { Preparations } from './pending-ports.ts';
import { untilOrLate } from '../../lib/run/wait-until.ts';
import { switchConfig } from './local.ts';

/** Longer than either takes, and short where ovs-vswitchd does not run. */
const longestMs = 100;

export class SwitchPace implements TransactionReader {
  readonly mark = { op: 'mutate', table: 'Open_vSwitch', where: [], mutations: [['next_cfg', '+=', 1]] } as const;
  readonly #client: Pick<OvsdbClient, 'cache' | 'subscribe'>;
  readonly #preparations: Pick<Preparations, 'untilNone'>;

  constructor(client: Pick<OvsdbClient, 'cache' | 'subscribe'>, preparations: Pick<Preparations, 'untilNone'>) {
    this.#client = client;
    this.#preparations = preparations;
  }

  async untilTakenUp(): Promise<void> {
    const isTakenUp = (): boolean => {
      const { asked, done } = switchConfig(this.#client);
      return done >= asked;
    };
    await untilOrLate([(check) => this.#client.subscribe(check)], isTakenUp, longestMs);
    await this.#preparations.untilNone(longestMs);
  }
}
