/**
 * The tunnels to other chassis, as the local Open_vSwitch database has them. In: its mirror, and whether ovs-vswitchd
 * lives. Out: LocalTunnels, and a call of the subscribers in the same turn as the update that changed one. A dead
 * ovs-vswitchd leaves its last `bfd_status` behind: until its successor has written a new one, the old one is stale. While
 * the database itself is away, the mirror has what it said last.
 */
import type { Cache, Change, OvsdbClient, Row } from 'ovsdb-client';
import { mapOf, textsOf } from '../../lib/ovn/columns.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import type { LocalTunnel } from '../model/interconnect.ts';

export interface TunnelWatchOptions {
  readonly ovs: Pick<OvsdbClient, 'cache' | 'subscribe' | 'state' | 'onState'>;
  /** Whether ovs-vswitchd is known not to run; asked when `programs` say that something has changed. */
  readonly isSwitchDown: () => boolean;
  readonly programs: { readonly subscribe: (listener: () => void) => void };
  /** Milliseconds after which the state is believed though nobody wrote it anew: a frozen ovs-vswitchd may not have noticed. */
  readonly trustMs?: number;
  /** Milliseconds without the database after which this is told: a restart of it is over by then. */
  readonly patienceMs?: number;
}

const defaultTrustMs = 10_000;
const defaultPatienceMs = 5000;

export class TunnelWatch {
  readonly #options: TunnelWatchOptions;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: readonly (() => void)[];
  /** Interfaces whose `bfd_status` is an earlier ovs-vswitchd's. */
  readonly #stale = new Set<string>();
  #isSwitchDown = false;
  #timer: NodeJS.Timeout | undefined;
  #isDatabaseAway = false;
  #awayTimer: NodeJS.Timeout | undefined;

  constructor(options: TunnelWatchOptions) {
    this.#options = options;
    const { ovs } = options;
    this.#unsubscribe = [ovs.subscribe((changes) => this.#onChanges(changes)), ovs.onState(() => this.#onState())];
    options.programs.subscribe(() => this.#onProgram());
    this.#onProgram();
  }

  get isSwitchDown(): boolean {
    return this.#isSwitchDown;
  }

  get isDatabaseAway(): boolean {
    return this.#isDatabaseAway;
  }

  get tunnels(): readonly LocalTunnel[] {
    return readTunnels(this.#options.ovs.cache, this.#stale);
  }

  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    clearTimeout(this.#timer);
    clearTimeout(this.#awayTimer);
  }

  #onChanges(changes: readonly Change[]): void {
    const ours = changes.filter(({ table, before, after }) => table === 'Interface' && isTunnel(after ?? before));
    if (ours.length === 0) return;
    for (const { before, after } of ours) {
      const isRewritten = JSON.stringify(before?.['bfd_status']) !== JSON.stringify(after?.['bfd_status']);
      if (isRewritten) this.#stale.delete((after ?? before)?.['name'] as string);
    }
    this.#tell();
  }

  #onProgram(): void {
    const isDown = this.#options.isSwitchDown();
    if (isDown === this.#isSwitchDown) return;
    this.#isSwitchDown = isDown;
    clearTimeout(this.#timer);
    if (isDown) for (const { name } of this.tunnels) this.#stale.add(name);
    else this.#timer = setTimeout(() => this.#trust(), this.#options.trustMs ?? defaultTrustMs).unref();
    this.#tell();
  }

  #onState(): void {
    const isSynced = this.#options.ovs.state === 'synced';
    if (!isSynced) {
      this.#awayTimer ??= setTimeout(() => this.#setAway(true), this.#options.patienceMs ?? defaultPatienceMs).unref();
      return;
    }
    clearTimeout(this.#awayTimer);
    this.#awayTimer = undefined;
    this.#setAway(false);
  }

  #setAway(isAway: boolean): void {
    if (this.#isDatabaseAway === isAway) return;
    this.#isDatabaseAway = isAway;
    this.#tell();
  }

  #trust(): void {
    if (this.#stale.size === 0) return;
    this.#stale.clear();
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

const tunnelTypes = new Set(['geneve', 'vxlan', 'stt']);

function isTunnel(row: Row | undefined): boolean {
  return tunnelTypes.has(row?.['type'] as string);
}

function readTunnels(cache: Cache, stale: ReadonlySet<string>): readonly LocalTunnel[] {
  const interfaces = cache.table('Interface').rows;
  const found: LocalTunnel[] = [];
  for (const port of cache.table('Port').rows.values())
    for (const uuid of textsOf(port, 'interfaces')) {
      const row = interfaces.get(uuid);
      if (row === undefined || !isTunnel(row)) continue;
      const chassis = chassisOf(externalIdOf(port, 'ovn-chassis-id') ?? externalIdOf(row, 'ovn-chassis-id'));
      if (chassis !== undefined) found.push(tunnelOf(row, chassis, stale));
    }
  return found;
}

function tunnelOf(row: Row, chassis: string, stale: ReadonlySet<string>): LocalTunnel {
  const bfd = mapOf(row, 'bfd_status');
  const name = row['name'] as string;
  return {
    name,
    chassis,
    address: mapOf(row, 'options')['remote_ip'] ?? '',
    isBfdWanted: mapOf(row, 'bfd')['enable'] === 'true',
    bfd,
    isStale: bfd['state'] !== undefined && stale.has(name),
  };
}

/** `<chassis>@<remote address>`, with `%<local address>` behind since OVN 24.03. */
function chassisOf(id: string | undefined): string | undefined {
  const at = id?.lastIndexOf('@') ?? -1;
  return at > 0 ? id?.slice(0, at) : undefined;
}
