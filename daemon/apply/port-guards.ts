/**
 * Keeps the flows that drop packets of pods' ports, and those that copy questions of DNS. It follows the interfaces of the local database, sandboxes, pods and Subnets,
 * passes the rules of each port to ovs/port-flows.ts, and lets ADD wait until a new port has its flows. Interfaces with a
 * logical port but without a sandbox are guarded as well: pods of a former Kube-OVN, and virtual machines that were attached by hand.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { nodeInterface } from '../../lib/api/names.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import type { PortFlows } from '../ovs/port-flows.ts';
import { portRules, unknownGuard, type Guard } from '../plan/port-guard.ts';
import type { PortRules } from '../model/packet-match.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';

export interface PortGuardsOptions {
  readonly ovs: Pick<OvsdbClient, 'cache' | 'subscribe'>;
  readonly sandboxes: Pick<Sandboxes, 'all'>;
  readonly flows: Pick<PortFlows, 'set' | 'isInForce' | 'subscribe'>;
  readonly guardOf: (sandbox: Sandbox) => Guard;
  /** Whether the daemon reads the questions of DNS that come from the port; default never. */
  readonly isObserved?: (sandbox: Sandbox) => boolean;
}

export class PortGuards {
  readonly #options: PortGuardsOptions;
  readonly #stop: () => void;
  /** The rules of ports, as computed last, by sandbox. */
  readonly #known = new Map<Sandbox, PortRules>();

  constructor(options: PortGuardsOptions) {
    this.#options = options;
    this.#stop = options.ovs.subscribe(() => this.#set());
    this.#set();
  }

  /** To be called when the result of `guardOf` or `isObserved` may have changed, by default for all sandboxes. */
  refresh(isConcerned: (sandbox: Sandbox) => boolean = () => true): void {
    const concerned = [...this.#known.keys()].filter(isConcerned);
    for (const sandbox of concerned) this.#known.delete(sandbox);
    if (concerned.length > 0) this.#set();
  }

  #set(): void {
    const { ovs, sandboxes, flows } = this.#options;
    const rules = new Map<number, PortRules>();
    const byInterface = new Map([...sandboxes.all()].map((sandbox) => [sandbox.hostInterface, sandbox]));
    for (const row of ovs.cache.table('Interface').rows.values()) {
      const [name, port] = [row['name'] as string, row['ofport']];
      if (typeof port !== 'number' || port < 1 || name === nodeInterface) continue;
      if (externalIdOf(row, 'iface-id') === undefined) continue;
      const sandbox = byInterface.get(name);
      rules.set(port, sandbox === undefined ? portRules(unknownGuard, false) : this.#rulesOf(sandbox));
    }
    flows.set(rules);
    for (const sandbox of this.#known.keys())
      if (byInterface.get(sandbox.hostInterface) !== sandbox) this.#known.delete(sandbox);
  }

  #rulesOf(sandbox: Sandbox): PortRules {
    const { guardOf, isObserved = () => false } = this.#options;
    const known = this.#known.get(sandbox) ?? portRules(guardOf(sandbox), isObserved(sandbox));
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
