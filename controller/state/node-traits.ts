import { nodeTraits } from '../plan/node/traits.ts';
import type { Node } from './objects.ts';

/** Which nodes have something that only one should have. */
export class NodeTraits {
  readonly #nodes = new Map<string, Set<string>>();

  change(before: Node | undefined, after: Node | undefined): void {
    for (const trait of before === undefined ? [] : nodeTraits(before)) {
      const names = this.#nodes.get(trait);
      names?.delete(before?.name ?? '');
      if (names?.size === 0) this.#nodes.delete(trait);
    }
    if (after === undefined) return;
    for (const trait of nodeTraits(after))
      this.#nodes.set(trait, (this.#nodes.get(trait) ?? new Set()).add(after.name));
  }

  nodesWith(trait: string): Iterable<string> {
    return this.#nodes.get(trait) ?? [];
  }
}
