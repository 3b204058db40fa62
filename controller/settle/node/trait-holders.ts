/**
 * The holders of traits that only one node can have: the name of a port group, and addresses. Rule: a node keeps a trait while its Node
 * claims it, then the oldest claiming node gets it. After a restart the holders are read from rows of the database, because nodes write
 * their own addresses and annotations.
 */
import { byAge } from '../../../lib/desired/rights.ts';
import { nodeTraits } from '../../model/node-traits.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

export class TraitHolders {
  readonly #view: Pick<View, 'nodes' | 'indexes'>;
  readonly #holders = new Map<string, string>();
  #isSettled = false;

  constructor(view: Pick<View, 'nodes' | 'indexes'>) {
    this.#view = view;
  }

  changed(before: Node | undefined, after: Node | undefined): void {
    if (!this.#isSettled) return;
    const traits = [before, after].flatMap((node) => (node === undefined ? [] : nodeTraits(node)));
    for (const trait of new Set(traits)) this.#settle(trait, undefined);
  }

  /** Call once all nodes are known. `holders` are the nodes that had traits before a restart. */
  restore(holders: ReadonlyMap<string, string>): void {
    this.#isSettled = true;
    for (const trait of this.#view.indexes.nodesByTrait.keys()) this.#settle(trait, holders.get(trait));
  }

  #settle(trait: string, before: string | undefined): void {
    const names = [...this.#view.indexes.nodesByTrait.of(trait)];
    const kept = [this.#holders.get(trait), before].find((name) => name !== undefined && names.includes(name));
    const oldest = names.flatMap((name) => this.#view.nodes.get(name) ?? []).sort(byAge)[0]?.name;
    const holder = kept ?? oldest;
    if (holder === undefined) this.#holders.delete(trait);
    else this.#holders.set(trait, holder);
  }

  holderOf(trait: string): string | undefined {
    return this.#holders.get(trait);
  }
}
