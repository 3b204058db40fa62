/** Rows of the paths of networks in both IC databases, one owner a path. In: networks that changed. Out: desired rows. */
import type { Desired } from '../../../lib/desired/row.ts';
import { pathOwner } from '../model/owners.ts';
import type { FoundDatapath, Network } from '../model/record.ts';
import { planDatapath, planSwitch } from '../plan/rows.ts';

export interface PathTarget {
  set(owner: string, desired: Desired): void;
  drop(owner: string): void;
}

export interface PathRowsOptions {
  readonly northbound: PathTarget;
  readonly southbound: PathTarget;
  /** The datapath that IC-SB has for a switch. */
  readonly datapathOf: (pathSwitch: string) => FoundDatapath | undefined;
}

export class PathRows {
  readonly #options: PathRowsOptions;

  constructor(options: PathRowsOptions) {
    this.#options = options;
  }

  /** The datapath of a foreign zone stands for both. */
  set(network: Network): void {
    const { northbound, southbound, datapathOf } = this.#options;
    for (const path of network.switches) {
      const owner = pathOwner(path.switch);
      if (datapathOf(path.switch)?.isForeign === true) southbound.drop(owner);
      else southbound.set(owner, planDatapath(path));
      northbound.set(owner, planSwitch(network, path));
    }
  }

  drop(pathSwitch: string): void {
    this.#options.northbound.drop(pathOwner(pathSwitch));
    this.#options.southbound.drop(pathOwner(pathSwitch));
  }
}
