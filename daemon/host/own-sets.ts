/** The elements of sets that owners want, of which those within others are left out: the elements of a set must not overlap. */
import { entryOf } from '../../lib/desired/entry-of.ts';
import { OutermostNetworks } from '../../lib/net/outermost.ts';
import type { HostElement } from '../model/host-network.ts';
import type { ElementChanges, SetElements } from './nft.ts';

export class OwnSets {
  readonly #sets = new Map<string, OutermostNetworks>();

  get all(): SetElements {
    return new Map([...this.#sets].map(([set, networks]) => [set, networks.all]));
  }

  add({ set, network }: HostElement): void {
    entryOf(this.#sets, set, () => new OutermostNetworks()).add(network);
  }

  /** To be called as often as `add`. */
  remove({ set, network }: HostElement): void {
    this.#sets.get(set)?.remove(network);
  }

  /** What has changed since the last call. */
  takeChanges(): readonly ElementChanges[] {
    return [...this.#sets].map(([set, networks]) => ({ set, ...networks.takeChanges() }));
  }
}
