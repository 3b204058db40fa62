/**
 * Which chassis have the ports of routers outside, without the moments in between. In: what the southbound database says. Out:
 * `setGatewayHolders` of the settled cluster. Rules: the cluster learns at once that another node took a port over, since its order must follow before
 * the former node comes back. After a change of the nodes it learns nothing for a short while unless the first node took the port, because nodes that
 * do not know each other yet take a port by turns. A port that no node has may be on its way to another.
 */
import { realTimers, type Timers } from '../../lib/rounds/timers.ts';
import type { GatewayHolder } from '../model/settled.ts';
import { gatewayPortName, gatewayPortNamed } from '../settle/external/external-subnets.ts';
import type { Cluster } from '../settle/cluster.ts';

export interface GatewayHoldersOptions {
  readonly cluster: Cluster;
  /** Called when the holders that the cluster knows have changed. */
  readonly onChange: () => void;
  /** Milliseconds since 1970. */
  readonly nowMs?: () => number;
  readonly timers?: Timers;
}

/** How long the nodes of a port need after a change until they know which of them are alive: some BFD intervals, on a busy machine. */
const quietMs = 3000;
/** How long a port may have no holder on its way to another. */
const vacantMs = 5000;
/** A port that moves more often than so within `unrestMs` is taken by turns by nodes that do not reach each other. Its order stays for as long. */
const mostMoves = 4;
const unrestMs = 60_000;

interface Port {
  /** When the cluster learned in the last minute that the port moved. */
  readonly movedMs: number[];
  /** The cluster learns nothing before. */
  quietUntilMs: number;
  /** When the holder was lost that the cluster still knows. */
  vacantSinceMs: number | undefined;
}

/** As Kubernetes writes times. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -'.000Z'.length)}Z`;
}

export class GatewayHolders {
  readonly #options: GatewayHoldersOptions;
  readonly #timers: Timers;
  readonly #ports = new Map<string, Port>();
  /** As the southbound database says: chassis by port. */
  #seen: ReadonlyMap<string, string> = new Map();
  #known: ReadonlyMap<string, GatewayHolder> | undefined;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(options: GatewayHoldersOptions) {
    this.#options = options;
    this.#timers = options.timers ?? realTimers;
    options.cluster.onChange((change) => {
      if (change.kind !== 'gatewayPorts') return;
      const textOf = (port: typeof change.after): string => JSON.stringify(port?.nodes ?? []);
      const port = change.after ?? change.before;
      if (port === undefined || textOf(change.before) === textOf(change.after)) return;
      const name = gatewayPortName(port);
      if (change.after === undefined) this.#ports.delete(name);
      else this.#quieten(this.#portOf(name), quietMs);
    });
  }

  /** Takes the chassis of all ports that have one, by the name of the port. */
  set(holders: ReadonlyMap<string, string>): void {
    this.#seen = holders;
    this.#look();
  }

  /** The southbound database may still say something afterwards: nothing waits for it. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #portOf(name: string): Port {
    const known = this.#ports.get(name);
    if (known !== undefined) return known;
    const port: Port = { movedMs: [], quietUntilMs: 0, vacantSinceMs: undefined };
    this.#ports.set(name, port);
    return port;
  }

  /** An earlier and longer time stays: the order that follows a move is a change of the nodes too. */
  #quieten(port: Port, ms: number): void {
    port.quietUntilMs = Math.max(port.quietUntilMs, this.#timers.nowMs() + ms);
  }

  #look(): void {
    if (this.#isClosed) return;
    this.#cancel?.();
    this.#cancel = undefined;
    const { cluster, onChange, nowMs = Date.now } = this.#options;
    const now = this.#timers.nowMs();
    const known = new Map(this.#known);
    let nextMs = Number.POSITIVE_INFINITY;
    for (const name of new Set([...this.#seen.keys(), ...known.keys()])) {
      const chassis = this.#seen.get(name);
      const port = this.#portOf(name);
      if (chassis !== undefined) port.vacantSinceMs = undefined;
      if (chassis === known.get(name)?.chassis) continue;
      const dueMs = this.#dueMs(name, port, { chassis, isFirst: !known.has(name), now });
      if (dueMs > now) nextMs = Math.min(nextMs, dueMs);
      else if (chassis === undefined) {
        known.delete(name);
        if (gatewayPortNamed(cluster, name) === undefined) this.#ports.delete(name);
      } else {
        if (known.has(name)) this.#moved(port, now);
        known.set(name, { chassis, since: timeText(nowMs()) });
      }
    }
    const isSame =
      this.#known?.size === known.size &&
      [...known].every(([name, { chassis }]) => this.#known?.get(name)?.chassis === chassis);
    if (!isSame) {
      this.#known = known;
      cluster.setGatewayHolders(known);
      onChange();
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#cancel = this.#timers.after(nextMs - now, () => this.#look());
  }

  /** When the cluster is to know of the change. */
  #dueMs(
    name: string,
    port: Port,
    {
      chassis,
      isFirst,
      now,
    }: { readonly chassis: string | undefined; readonly isFirst: boolean; readonly now: number },
  ): number {
    if (chassis === undefined) return (port.vacantSinceMs ??= now) + vacantMs;
    return isFirst || this.#isFirstNode(name, chassis) ? now : port.quietUntilMs;
  }

  #isFirstNode(name: string, chassis: string): boolean {
    return gatewayPortNamed(this.#options.cluster, name)?.nodes[0]?.chassis === chassis;
  }

  #moved(port: Port, now: number): void {
    port.movedMs.push(now);
    while ((port.movedMs[0] ?? now) < now - unrestMs) port.movedMs.shift();
    if (port.movedMs.length > mostMoves) this.#quieten(port, unrestMs);
  }
}
