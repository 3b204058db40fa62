/**
 * After a change of the table of Services, deletes UDP connections to endpoints that no longer serve, and forgets clients with session affinity
 * for such an endpoint. Changes during a run are handled together in the next run.
 */
import type { Logger } from '../../lib/run/logger.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import type { UdpEntry } from '../../lib/netlink/conntrack.ts';
import { type Family, familyOf } from '../../lib/net/ip.ts';
import { isRefusal } from '../host/refusal.ts';
import { changedClients, changedFlows, isStaleClient, isStaleFlow } from '../plan/services/stale.ts';
import type { FrontendChange } from './services.ts';

export interface StaleConnectionsOptions {
  readonly flows: { deleteIf(family: Family, isStale: (entry: UdpEntry) => boolean): Promise<number> };
  readonly clients: {
    forgetClients(family: Family, isStale: (client: string, endpoint: string) => boolean): Promise<void>;
  };
  /** Addresses of the node with NodePorts. */
  readonly nodeAddresses: () => ReadonlySet<string>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

const families = [4, 6] as const;
/** Each run reads all connections of UDP, or all remembered clients; but clients wait for it. */
const spacingMs = (tookMs: number): number => Math.min(2 * tookMs, 500);
const retryMs = 5000;

export class StaleConnections {
  readonly #options: StaleConnectionsOptions;
  readonly #engine: RoundEngine;
  #flows = new Map<string, ReadonlySet<string>>();
  #clients = new Map<string, ReadonlySet<string>>();
  /** Whether the kernel lists connections. A kernel that lacks this does not gain it while the process runs. */
  #canList = true;

  constructor(options: StaleConnectionsOptions) {
    this.#options = options;
    this.#engine = new RoundEngine({ spacingMs, run: () => this.#run() });
    this.#engine.start();
  }

  add(changes: readonly FrontendChange[]): void {
    for (const { before, after } of changes) {
      for (const [key, served] of changedFlows(before, after)) this.#flows.set(key, served);
      for (const [key, served] of changedClients(before, after)) this.#clients.set(key, served);
    }
    if (this.#flows.size + this.#clients.size > 0) this.#engine.request();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async #run(): Promise<void> {
    const [flows, clients] = [this.#flows, this.#clients];
    this.#flows = new Map();
    this.#clients = new Map();
    if (flows.size > 0 && this.#canList) await this.#deleteFlows(flows);
    if (clients.size > 0) await this.#forgetClients(clients);
  }

  async #deleteFlows(served: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    const { flows, nodeAddresses, log } = this.#options;
    const addresses = nodeAddresses();
    try {
      for (const family of familiesOf(served)) {
        const count = await flows.deleteIf(family, (entry) => isStaleFlow(entry, served, addresses));
        if (count > 0) log.info({ count, family }, 'UDP connections to endpoints that no longer serve were deleted');
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.code === 'ETIMEDOUT' || error.code === 'EBUSY') {
        for (const [key, endpoints] of served) if (!this.#flows.has(key)) this.#flows.set(key, endpoints);
        this.#engine.wakeAfter(retryMs);
        return;
      }
      this.#canList = false;
      log.warn(
        { err: error },
        'the kernel does not list its connections, so UDP clients keep sending to endpoints that are gone until they pause; load the module nf_conntrack_netlink and restart the daemon',
      );
    }
  }

  async #forgetClients(served: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    const { clients, log } = this.#options;
    try {
      for (const family of familiesOf(served))
        await clients.forgetClients(family, (client, endpoint) => isStaleClient(client, endpoint, served));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      log.warn({ err: error }, 'clients with session affinity could not be moved to other endpoints, trying again');
      for (const [key, endpoints] of served) if (!this.#clients.has(key)) this.#clients.set(key, endpoints);
      this.#engine.wakeAfter(retryMs);
    }
  }
}

function familiesOf(served: ReadonlyMap<string, ReadonlySet<string>>): readonly Family[] {
  const keys = [...served.keys()];
  return families.filter((family) => keys.some((key) => familyOf(key) === family));
}
