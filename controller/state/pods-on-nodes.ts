import type { Pod } from '../model/objects.ts';

/** Which pods are scheduled to which node. */
export class PodsOnNodes {
  readonly #pods = new Map<string, Set<string>>();

  change(key: string, before: Pod | undefined, after: Pod | undefined): void {
    if (before?.node === after?.node) return;
    if (before?.node !== undefined) this.#pods.get(before.node)?.delete(key);
    if (after?.node === undefined) return;
    this.#pods.set(after.node, (this.#pods.get(after.node) ?? new Set()).add(key));
  }

  on(node: string): Iterable<string> {
    return this.#pods.get(node) ?? [];
  }
}
