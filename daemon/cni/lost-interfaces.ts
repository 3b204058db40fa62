/**
 * Restores deleted interfaces of living pods, including those that were deleted while no daemon ran. An event on the
 * pod says that the interface was restored, or why it could not be.
 */
import type { Attachments } from './attachments.ts';
import { CniError } from './error.ts';
import type { PodLinks } from '../host/pod-links.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { SandboxPorts } from '../apply/sandbox-ports.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Sandboxes } from '../state/sandboxes.ts';

export interface LostInterfacesOptions {
  readonly attachments: Pick<Attachments, 'restore'>;
  readonly links: Pick<PodLinks, 'hostNames'>;
  readonly sandboxes: Pick<Sandboxes, 'all' | 'byHostInterface'>;
  readonly ports: Pick<SandboxPorts, 'isAside'>;
  readonly report: (sandbox: Sandbox, problem: Problem) => void;
}

const retryMs = 2000;

export class LostInterfaces {
  readonly #options: LostInterfacesOptions;
  /** By host interface. */
  readonly #retries = new Map<string, NodeJS.Timeout>();

  constructor(options: LostInterfacesOptions) {
    this.#options = options;
  }

  /** Restores those that are gone already, and those that an earlier daemon was restoring. @throws NetlinkError */
  async look(): Promise<void> {
    const { links, sandboxes, ports } = this.#options;
    const present = new Set(await links.hostNames());
    for (const sandbox of sandboxes.all())
      if (!present.has(sandbox.hostInterface) || ports.isAside(sandbox)) this.gone(sandbox.hostInterface);
  }

  /** To be called for each link that is deleted; most of them are deleted with their pods. */
  gone(name: string): void {
    const sandbox = this.#options.sandboxes.byHostInterface(name);
    if (sandbox !== undefined) void this.#restore(sandbox);
  }

  close(): void {
    for (const timer of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
  }

  async #restore(sandbox: Sandbox): Promise<void> {
    const { attachments, report } = this.#options;
    clearTimeout(this.#retries.get(sandbox.hostInterface));
    this.#retries.delete(sandbox.hostInterface);
    const what = `interface ${sandbox.ifname}, ${sandbox.hostInterface} of the node,`;
    try {
      const restored = await attachments.restore(sandbox.hostInterface);
      if (restored === undefined) return;
      report(sandbox, {
        code: 'InterfaceRestored',
        message: `${what} was deleted outside of Isthmus and has been restored, without the changes of other CNI plugins`,
      });
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      const details = error.details === undefined ? '' : `; ${error.details}`;
      report(sandbox, {
        code: 'InterfaceLost',
        message: `${what} was deleted outside of Isthmus and cannot be restored: ${error.message}${details}; the daemon retries; deleting the pod helps as well`,
      });
      this.#retries.set(
        sandbox.hostInterface,
        setTimeout(() => this.gone(sandbox.hostInterface), retryMs),
      );
    }
  }
}
