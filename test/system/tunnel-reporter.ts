/** Reports tunnels in place of a node's daemon, for beds without daemons: BFD states from the node's own Open vSwitch. */
import { openOvsdb, type OvsdbClient, type Row } from 'ovsdb-client';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { interconnectGateways } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';

interface Tunnel {
  readonly chassis: string;
  readonly address: string;
  readonly state: string;
  readonly since: string;
}

const retryMs = 200;

export class TunnelReporter {
  readonly #kube: KubeClient;
  readonly #node: string;
  readonly #remote: string;
  readonly #siblings: ReadonlySet<string>;
  #client: OvsdbClient | undefined;
  #tunnels: readonly Tunnel[] = [];
  #isDirty = true;
  #isBusy = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param siblings the other gateways of the node's cluster */
  constructor(kube: KubeClient, node: string, remote: string, siblings: readonly string[]) {
    this.#kube = kube;
    this.#node = node;
    this.#remote = remote;
    this.#siblings = new Set(siblings);
  }

  start(): void {
    void openOvsdb({
      remotes: [this.#remote],
      database: 'Open_vSwitch',
      monitor: { Interface: ['name', 'bfd_status', 'external_ids', 'options'], Port: ['external_ids', 'interfaces'] },
    }).then((client) => {
      this.#client = client;
      client.subscribe(() => this.#look());
      this.#look();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#client?.close();
  }

  #look(): void {
    const ports = this.#client?.cache.table('Port').rows.values() ?? [];
    const tunnels = [...ports].flatMap((port) => this.#tunnelOf(port));
    tunnels.sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
    if (JSON.stringify(tunnels) !== JSON.stringify(this.#tunnels)) this.#isDirty = true;
    this.#tunnels = tunnels;
    void this.#write();
  }

  #tunnelOf(port: Row): readonly Tunnel[] {
    const id = textOf(port['external_ids'], 'ovn-chassis-id');
    const { interfaces } = port;
    const uuid = Array.isArray(interfaces) ? interfaces[0] : interfaces;
    const row = typeof uuid === 'string' ? this.#client?.cache.table('Interface').rows.get(uuid) : undefined;
    if (id === '' || row === undefined) return [];
    const chassis = id.split('@')[0] ?? '';
    const state = textOf(row['bfd_status'], 'state') || 'unknown';
    const known = this.#tunnels.find((tunnel) => tunnel.chassis === chassis);
    const since = known?.state === state ? known.since : new Date().toISOString();
    return [{ chassis, address: textOf(row['options'], 'remote_ip'), state, since }];
  }

  async #write(): Promise<void> {
    if (this.#isBusy || !this.#isDirty || this.#isStopped) return;
    this.#isBusy = true;
    this.#isDirty = false;
    try {
      const isSibling = ({ chassis }: Tunnel): boolean => this.#siblings.has(chassis);
      const status = {
        tunnels: this.#tunnels.filter((tunnel) => !isSibling(tunnel)),
        siblingTunnels: this.#tunnels.filter(isSibling),
      };
      await this.#kube.patch(
        interconnectGateways,
        { name: this.#node },
        'merge',
        { status },
        { subresource: 'status' },
      );
    } catch (error) {
      // The agent has not created the object yet.
      if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
      this.#isDirty = true;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        void this.#write();
      }, retryMs);
    }
    this.#isBusy = false;
    if (this.#timer === undefined) void this.#write();
  }
}

function textOf(map: unknown, key: string): string {
  const value = (map as Readonly<Record<string, unknown>> | undefined)?.[key];
  return typeof value === 'string' ? value : '';
}
