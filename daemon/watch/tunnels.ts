/**
 * The tunnels to other chassis, as the local Open_vSwitch database has them. Subscribers are called in the same turn as the database
 * update that changed a tunnel. `settle/tunnel-liveness.ts` decides which BFD states count after a death of ovs-vswitchd. While the
 * database is away, the tunnels are those that it had last.
 */
import type { Cache, Change, OvsdbClient, Row } from 'ovsdb-client';
import { mapOf, textsOf } from '../../lib/ovn/columns.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import type { LocalTunnel } from '../model/interconnect.ts';

export interface TunnelWatchOptions {
  readonly ovs: Pick<OvsdbClient, 'cache' | 'subscribe' | 'state' | 'onState'>;
  readonly liveness: TunnelStates;
  /** Whether ovs-vswitchd is known not to run; asked after each change that `programs` report. */
  readonly isSwitchDown: () => boolean;
  readonly programs: { readonly subscribe: (listener: () => void) => void };
  /** Milliseconds until unchanged states count again: an ovs-vswitchd that was frozen may not have updated them yet. */
  readonly trustMs?: number;
  /** Milliseconds without the database until it counts as away: a restart of the database is over by then. */
  readonly patienceMs?: number;
}

/** Decides which BFD states count. */
export interface TunnelStates {
  readonly isSwitchDown: boolean;
  readonly isStale: (tunnel: string) => boolean;
  readonly setSwitchDown: (isDown: boolean, tunnels: () => Iterable<string>) => boolean;
  readonly rewritten: (tunnel: string) => void;
  readonly trustAll: () => boolean;
}

const defaultTrustMs = 10_000;
const defaultPatienceMs = 5000;

export class TunnelWatch {
  readonly #options: TunnelWatchOptions;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: readonly (() => void)[];
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
    return this.#options.liveness.isSwitchDown;
  }

  get isDatabaseAway(): boolean {
    return this.#isDatabaseAway;
  }

  get tunnels(): readonly LocalTunnel[] {
    return readTunnels(this.#options.ovs.cache, this.#options.liveness);
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
      if (isRewritten) this.#options.liveness.rewritten((after ?? before)?.['name'] as string);
    }
    this.#notify();
  }

  #onProgram(): void {
    const { liveness, isSwitchDown, trustMs = defaultTrustMs } = this.#options;
    const isDown = isSwitchDown();
    if (!liveness.setSwitchDown(isDown, () => this.tunnels.map(({ name }) => name))) return;
    clearTimeout(this.#timer);
    if (!isDown) this.#timer = setTimeout(() => liveness.trustAll() && this.#notify(), trustMs).unref();
    this.#notify();
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
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const tunnelTypes = new Set(['geneve', 'vxlan', 'stt']);

function isTunnel(row: Row | undefined): boolean {
  return tunnelTypes.has(row?.['type'] as string);
}

function readTunnels(cache: Cache, liveness: TunnelStates): readonly LocalTunnel[] {
  const interfaces = cache.table('Interface').rows;
  const found: LocalTunnel[] = [];
  for (const port of cache.table('Port').rows.values())
    for (const uuid of textsOf(port, 'interfaces')) {
      const row = interfaces.get(uuid);
      if (row === undefined || !isTunnel(row)) continue;
      const chassis = chassisOf(externalIdOf(port, 'ovn-chassis-id') ?? externalIdOf(row, 'ovn-chassis-id'));
      if (chassis !== undefined) found.push(tunnelOf(row, chassis, liveness));
    }
  return found;
}

function tunnelOf(row: Row, chassis: string, liveness: TunnelStates): LocalTunnel {
  const bfd = mapOf(row, 'bfd_status');
  const name = row['name'] as string;
  return {
    name,
    chassis,
    address: mapOf(row, 'options')['remote_ip'] ?? '',
    isBfdWanted: mapOf(row, 'bfd')['enable'] === 'true',
    bfd,
    isStale: bfd['state'] !== undefined && liveness.isStale(name),
  };
}

/** The id is `<chassis>@<remote address>`; since OVN 24.03 `%<local address>` follows. */
function chassisOf(id: string | undefined): string | undefined {
  const at = id?.lastIndexOf('@') ?? -1;
  return at > 0 ? id?.slice(0, at) : undefined;
}
