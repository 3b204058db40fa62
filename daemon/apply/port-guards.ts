/**
 * Keeps the flows that drop packets of pods' ports. It follows the interfaces of the local database, sandboxes, pods and Subnets,
 * passes the matches to drop of each port to ovs/port-flows.ts, and lets ADD wait until a new port has its flows. Interfaces with a
 * logical port but without a sandbox are guarded as well: pods of a former Kube-OVN, and virtual machines that were attached by hand.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { nodeInterface } from '../../lib/api/names.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import type { PortFlows } from '../ovs/port-flows.ts';
import { droppedBy, unknownGuard, type Guard } from '../plan/port-guard.ts';
import type { PacketMatch } from '../model/packet-match.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';

export interface PortGuardsOptions {
  readonly ovs: Pick<OvsdbClient, 'cache' | 'subscribe'>;
  readonly sandboxes: Pick<Sandboxes, 'all'>;
  readonly flows: Pick<PortFlows, 'set' | 'isInForce' | 'subscribe'>;
  readonly guardOf: (sandbox: Sandbox) => Guard;
}

export class PortGuards {
  readonly #options: PortGuardsOptions;
  readonly #stop: () => void;
  /** The matches to drop, as computed last, by sandbox. */
  readonly #known = new Map<Sandbox, readonly PacketMatch[]>();

  constructor(options: PortGuardsOptions) {
    this.#options = options;
    this.#stop = options.ovs.subscribe(() => this.#set());
    this.#set();
  }

  /** To be called when the result of `guardOf` may have changed, by default for all sandboxes. */
  refresh(isConcerned: (sandbox: Sandbox) => boolean = () => true): void {
    const concerned = [...this.#known.keys()].filter(isConcerned);
    for (const sandbox of concerned) this.#known.delete(sandbox);
    if (concerned.length > 0) this.#set();
  }

  #set(): void {
    const { ovs, sandboxes, flows } = this.#options;
    const drops = new Map<number, readonly PacketMatch[]>();
    const byInterface = new Map([...sandboxes.all()].map((sandbox) => [sandbox.hostInterface, sandbox]));
    for (const row of ovs.cache.table('Interface').rows.values()) {
      const [name, port] = [row['name'] as string, row['ofport']];
      if (typeof port !== 'number' || port < 1 || name === nodeInterface) continue;
      if (externalIdOf(row, 'iface-id') === undefined) continue;
      const sandbox = byInterface.get(name);
      drops.set(port, sandbox === undefined ? droppedBy(unknownGuard) : this.#droppedBy(sandbox));
    }
    flows.set(drops);
    for (const sandbox of this.#known.keys())
      if (byInterface.get(sandbox.hostInterface) !== sandbox) this.#known.delete(sandbox);
  }

  #droppedBy(sandbox: Sandbox): readonly PacketMatch[] {
    const known = this.#known.get(sandbox) ?? droppedBy(this.#options.guardOf(sandbox));
    this.#known.set(sandbox, known);
    return known;
  }

  /** Resolves when the port of the sandbox has its flows. @throws the signal's reason */
  async untilGuarded({ hostInterface }: Sandbox, signal: AbortSignal): Promise<void> {
    const { ovs, flows } = this.#options;
    const isGuarded = (): true | undefined => {
      const [row] = ovs.cache.table('Interface').byIndex(['name'], [hostInterface]);
      const port = row?.['ofport'];
      return typeof port === 'number' && flows.isInForce(port) ? true : undefined;
    };
    await waitUntil([(check) => ovs.subscribe(check), (check) => flows.subscribe(check)], isGuarded, signal);
  }

  close(): void {
    this.#stop();
  }
}
