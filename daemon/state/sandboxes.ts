/** The sandboxes of this node by attachment. The OVS database has the lasting copy; this is the index over it. */
import type { Sandbox } from '../model/sandbox.ts';

export type AttachmentKey = string;

/** A container id and an interface name identify an attachment, as in the CNI specification. */
export function attachmentKey(containerId: string, ifname: string): AttachmentKey {
  return `${containerId}/${ifname}`;
}

export class Sandboxes {
  readonly #byKey = new Map<AttachmentKey, Sandbox>();

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
    return [...this.#byKey.values()].filter(
      ({ podNamespace, podName }) => podNamespace === namespace && podName === name,
    );
  }

  /** Several sandboxes would take the logical port from each other. */
  ofPort(port: string): readonly Sandbox[] {
    return [...this.#byKey.values()].filter((sandbox) => sandbox.port === port);
  }

  byHostInterface(name: string): Sandbox | undefined {
    return this.#byKey.values().find((sandbox) => sandbox.hostInterface === name);
  }
}
