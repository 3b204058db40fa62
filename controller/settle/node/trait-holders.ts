/**
 * Which nodes have something that only one can have, and which of them has it. Rule: who has it keeps it for as long as it
 * says so, then it is the oldest's; over a restart the rows of the database tell who had it, because nodes write their own
 * addresses and annotations.
 */
import { nodeTraits } from './traits.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import type { Node } from '../../model/objects.ts';

export class NodeTraits {
  readonly #nodes = new Map<string, Map<string, Node>>();
  readonly #holders = new Map<string, string>();
  #isSettled = false;

  change(before: Node | undefined, after: Node | undefined): void {
    const [was, is] = [before, after].map((node) => (node === undefined ? [] : nodeTraits(node)));
    for (const trait of was ?? []) this.#nodes.get(trait)?.delete(before?.name ?? '');
    for (const trait of is ?? []) {
      const nodes = this.#nodes.get(trait) ?? new Map<string, Node>();
      this.#nodes.set(trait, after === undefined ? nodes : nodes.set(after.name, after));
    }
    if (this.#isSettled) for (const trait of new Set([...(was ?? []), ...(is ?? [])])) this.#settle(trait, undefined);
  }

  /** All nodes are known; `holders` had traits before a restart. */
  restore(holders: ReadonlyMap<string, string>): void {
    this.#isSettled = true;
    for (const trait of this.#nodes.keys()) this.#settle(trait, holders.get(trait));
  }

  #settle(trait: string, before: string | undefined): void {
    const nodes = this.#nodes.get(trait);
    if (nodes === undefined || nodes.size === 0) {
      this.#nodes.delete(trait);
      this.#holders.delete(trait);
      return;
    }
    const kept = [this.#holders.get(trait), before].find((name) => name !== undefined && nodes.has(name));
    const holder = kept ?? [...nodes.values()].sort(byAge)[0]?.name;
    if (holder !== undefined) this.#holders.set(trait, holder);
  }

  holderOf(trait: string): string | undefined {
    return this.#holders.get(trait);
  }

  nodesWith(trait: string): Iterable<string> {
    return this.#nodes.get(trait)?.keys() ?? [];
  }
}
