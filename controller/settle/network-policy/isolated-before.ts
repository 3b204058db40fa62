/** Ports that a former process had isolated in Namespaces that were being deleted at the start: their policies may have been deleted before. */
import type { PolicyDirection } from '../../../lib/policies/selection.ts';

export class IsolatedBefore {
  #ports: ReadonlyMap<PolicyDirection, ReadonlySet<string>> = new Map();
  readonly #namespaces = new Set<string>();

  /** @param namespaces those that are being deleted */
  restore(ports: ReadonlyMap<PolicyDirection, ReadonlySet<string>>, namespaces: Iterable<string>): void {
    for (const name of namespaces) this.#namespaces.add(name);
    if (this.#namespaces.size > 0) this.#ports = ports;
  }

  has(namespace: string, port: string, direction: PolicyDirection): boolean {
    return this.#namespaces.has(namespace) && this.#ports.get(direction)?.has(port) === true;
  }

  /** There is another Namespace of this name. */
  forget(namespace: string): void {
    if (this.#namespaces.delete(namespace) && this.#namespaces.size === 0) this.#ports = new Map();
  }
}
