/** The sandboxes of this node by attachment. The OVS database has the lasting copy; this is the index over it. */
import { index } from '../../lib/store/index.ts';
import { Store } from '../../lib/store/store.ts';
import type { Sandbox } from '../model/sandbox.ts';

export type AttachmentKey = string;

/** A container id and an interface name identify an attachment, as in the CNI specification. */
export function attachmentKey(containerId: string, ifname: string): AttachmentKey {
  return `${containerId}/${ifname}`;
}

export class Sandboxes {
  readonly #byKey = new Store<Sandbox>();
  readonly #byPod = index(this.#byKey, ({ podNamespace, podName }) => [`${podNamespace}/${podName}`]);
  readonly #byPort = index(this.#byKey, ({ port }) => [port]);
  readonly #byHostInterface = index(this.#byKey, ({ hostInterface }) => [hostInterface]);

  get size(): number {
    return this.#byKey.size;
  }

  all(): MapIterator<Sandbox> {
    return this.#byKey.values();
  }

  get(key: AttachmentKey): Sandbox | undefined {
    return this.#byKey.get(key);
  }

  add(sandbox: Sandbox): void {
    this.#byKey.set(attachmentKey(sandbox.containerId, sandbox.ifname), sandbox);
  }

  remove(sandbox: Sandbox): void {
    this.#byKey.delete(attachmentKey(sandbox.containerId, sandbox.ifname));
  }

  ofPod(namespace: string, name: string): readonly Sandbox[] {
    return this.#valuesOf(this.#byPod.of(`${namespace}/${name}`));
  }

  /** Several sandboxes would take the logical port from each other. */
  ofPort(port: string): readonly Sandbox[] {
    return this.#valuesOf(this.#byPort.of(port));
  }

  byHostInterface(name: string): Sandbox | undefined {
    return this.#valuesOf(this.#byHostInterface.of(name))[0];
  }

  #valuesOf(keys: Iterable<AttachmentKey>): readonly Sandbox[] {
    return [...keys].flatMap((key) => this.#byKey.get(key) ?? []);
  }
}
