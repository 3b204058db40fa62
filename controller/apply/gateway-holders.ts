/**
 * Which chassis have the ports of routers outside, without the moments in between. In: what the southbound database says. Out:
 * `setGatewayHolders` of the settled cluster. Rules: the cluster learns soon that another node took a port over, since its order must follow before
 * the former node comes back. A node that returns takes the port until BFD to the holder is up, and the holder takes it back: the cluster learns nothing of
 * that. After a change of the nodes it learns nothing for a short while unless the first node took the port, because nodes that
 * do not know each other yet take a port by turns. A port that no node has may be on its way to another.
 */
import { realTimers, type Timers } from '../../lib/rounds/timers.ts';
import type { GatewayHolder } from '../model/settled.ts';
import { gatewayPortName, gatewayPortNamed } from '../settle/external/external-subnets.ts';
import type { Cluster } from '../settle/cluster.ts';

export interface GatewayHoldersOptions {
  readonly cluster: Cluster;
  /** The order of chassis that a former process left, by the name of the port. */
  readonly former?: ReadonlyMap<string, readonly string[]>;
  /** Called when the holders that the cluster knows have changed. */
  readonly onChange: () => void;
  /** Milliseconds since 1970. */
  readonly nowMs?: () => number;
  readonly timers?: Timers;
}

/** How long another node must have a port: a holder that is alive takes it back before. */
const takeoverMs = 300;
/** The same for a node that lost the port, or gave it back, within `doubtMs`: a busy holder may take it back later. OVN tries every 0.5 s. */
const returnMs = 3000;
const doubtMs = 600_000;
/** How long the nodes of a port need after a change until they know which of them are alive: some BFD intervals, on a busy machine. */
const quietMs = 3000;
/** How long a port may have no holder on its way to another. */
const vacantMs = 5000;
/** A port that moves more often than so within `unrestMs` is taken by turns by nodes that do not reach each other. Its order stays for as long. */
const mostMoves = 4;
const unrestMs = 60_000;

interface Port {
  /** When the order followed the port in the last minute. */
  readonly movedMs: number[];
  /** The cluster learns nothing before. */
  quietUntilMs: number;
  /** When the holder was lost that the cluster still knows. */
  vacantSinceMs: number | undefined;
  /** What the database says, and since when. */
  claim: { readonly chassis: string; readonly sinceMs: number } | undefined;
  /** The last chassis that the database named. */
  former: string | undefined;
  /** When chassis lost the port without our wish, as the database said. */
  readonly lostMs: Map<string, number>;
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
  #firstSeenMs: number | undefined;
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
    const port: Port = {
      movedMs: [],
      quietUntilMs: 0,
      vacantSinceMs: undefined,
      claim: undefined,
      former: undefined,
      lostMs: new Map(),
    };
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
    for (const name of new Set([...this.#seen.keys(), ...this.#ports.keys()])) this.#claimed(name, now);
    const startMs = this.#startMs(now);
    if (startMs > now) {
      this.#cancel = this.#timers.after(startMs - now, () => this.#look());
      return;
    }
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
        if (known.has(name) && !this.#isFirstNode(name, chassis)) this.#moved(port, now);
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
    if (isFirst || this.#isFirstNode(name, chassis)) return now;
    const isDoubtful = (port.lostMs.get(chassis) ?? Number.NEGATIVE_INFINITY) > now - doubtMs;
    const sinceMs = port.claim?.sinceMs ?? now;
    return Math.max(port.quietUntilMs, sinceMs + (isDoubtful ? returnMs : takeoverMs));
  }

  #claimed(name: string, now: number): void {
    const port = this.#portOf(name);
    const chassis = this.#seen.get(name);
    if (chassis === port.claim?.chassis) return;
    port.claim = chassis === undefined ? undefined : { chassis, sinceMs: now };
    const { former } = port;
    if (chassis === undefined || chassis === former) return;
    port.former = chassis;
    // A node that was drained may be as healthy as any other.
    const isOurWish = this.#known?.get(name)?.chassis === former && this.#isFirstNode(name, chassis);
    if (former !== undefined && !isOurWish) port.lostMs.set(former, now);
  }

  /** A former process may have known that a node which has a port now is not its holder. While the cluster learns nothing, the order and statuses stay. */
  #startMs(now: number): number {
    if (this.#known !== undefined) return now;
    this.#firstSeenMs ??= now;
    const isMoving = [...this.#seen].some(([name, chassis]) => {
      const [first = chassis] = this.#options.former?.get(name) ?? [];
      return first !== chassis;
    });
    return isMoving ? this.#firstSeenMs + returnMs : now;
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
