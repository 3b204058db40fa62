/**
 * Remembers the order of gateways of each path, how far the path is in a move, and which gateways count as dead. In:
 * facts of the databases and the hub. Out: the result of `anchors.ts`.
 */
import type { PathFacts, HubFacts, GatewayFacts } from '../model/anchors.ts';
import { deadAfterMs, settleAnchors, type AnchorGateway, type AnchorMemory } from './anchors.ts';
import { cutOffBy } from './cuts.ts';
import type { CutView } from './cut-history.ts';

export interface Anchored {
  readonly memories: ReadonlyMap<number, AnchorMemory>;
  readonly blocked: ReadonlyMap<number, string>;
}

/**
 * From the moment that other clusters may have tunnels to a gateway until it may hold a port. Earlier, BFD between it
 * and the present holder may not be up: it would take the holder for dead, and both would claim the port.
 */
export const joinMs = 5000;
/**
 * A gateway that anchors nothing any more counts as an anchor for this long: packets of clusters that have not followed
 * yet arrive there.
 */
export const lingerMs = 5000;

export class AnchorHistory {
  readonly #memories = new Map<string, ReadonlyMap<number, AnchorMemory>>();
  /** Chassis that lost a port for long → when that was found. */
  readonly #dead = new Map<string, number>();
  /** Draining path → revision of the first state for the hub that reported it as draining. */
  readonly #announced = new Map<string, number>();
  readonly #wakes = new Map<string, number>();
  /** By network: gateways that hold nothing yet → since when they could. */
  readonly #joining = new Map<string, ReadonlyMap<string, number>>();
  /** Chassis → when it was last first in some order. */
  readonly #anchored = new Map<string, number>();

  /** One step of all paths of a network. */
  step(
    network: string,
    facts: {
      readonly paths: readonly PathFacts[];
      readonly gateways: readonly GatewayFacts[];
      readonly cuts: CutView;
      readonly hub: HubFacts;
      /** Databases and northd of this cluster apply writes. */
      readonly isFollowed: boolean;
      readonly nowMs: number;
      readonly holdDownMs: number;
    },
  ): Anchored {
    const { paths, cuts, hub, isFollowed, nowMs, holdDownMs } = facts;
    const before = this.#memories.get(network);
    this.#declareAlive(facts.gateways, paths);
    const joined = this.#joined(network, facts, before);
    const result = settleAnchors({
      paths: paths.map((path) => ({
        ...path,
        memory: before?.get(path.index),
        isDrainAnnounced: this.#isAnnounced(`${network}/${path.index}`, hub),
      })),
      gateways: this.#gateways(joined, paths, cuts),
      cuts: cuts.cuts,
      isHubConnected: hub.isConnected,
      isFollowed,
      nowMs,
      holdDownMs,
    });
    this.#memories.set(network, result.memories);
    const joins = [...(this.#joining.get(network)?.values() ?? [])]
      .map((sinceMs) => sinceMs + joinMs)
      .filter((dueMs) => dueMs > nowMs);
    const wakeMs = this.#declareDead(result.memories, paths, nowMs)
      ? nowMs
      : Math.min(result.wakeMs ?? Infinity, ...joins);
    if (wakeMs === Infinity) this.#wakes.delete(network);
    else this.#wakes.set(network, wakeMs);
    return result;
  }

  /** The hub was sent the present state of all paths as `revision`. */
  announced(revision: number): void {
    for (const [network, memories] of this.#memories) {
      for (const [index, { phase }] of memories) {
        const key = `${network}/${index}`;
        if (phase !== 'draining') this.#announced.delete(key);
        else if (!this.#announced.has(key)) this.#announced.set(key, revision);
      }
    }
  }

  keepOnly(networks: ReadonlySet<string>, nowMs: number): void {
    for (const name of this.#memories.keys()) if (!networks.has(name)) this.#forget(name);
    this.#linger(nowMs);
  }

  clear(): void {
    for (const name of this.#memories.keys()) this.#forget(name);
    this.#anchored.clear();
    this.#dead.clear();
  }

  /** When the next step is due even without a change. */
  get wakeMs(): number | undefined {
    const current = this.#current();
    const leaving = [...this.#anchored].flatMap(([chassis, ms]) => (current.has(chassis) ? [] : [ms + lingerMs]));
    const wakes = [...this.#wakes.values(), ...leaving];
    return wakes.length === 0 ? undefined : Math.min(...wakes);
  }

  isDead(chassis: string): boolean {
    return this.#dead.has(chassis);
  }

  /** Whether some path's order has the chassis first. */
  isAnchor(chassis: string): boolean {
    return this.#memories.values().some((paths) => paths.values().some(({ order }) => order[0] === chassis));
  }

  /** Chassis that are first in some order, or were a moment ago; selected or not. */
  anchors(): ReadonlySet<string> {
    return new Set(this.#anchored.keys());
  }

  #current(): ReadonlySet<string> {
    return new Set(
      [...this.#memories.values()].flatMap((paths) => [...paths.values()].flatMap(({ order }) => order.slice(0, 1))),
    );
  }

  #linger(nowMs: number): void {
    for (const chassis of this.#current()) this.#anchored.set(chassis, nowMs);
    for (const [chassis, ms] of this.#anchored) if (nowMs - ms >= lingerMs) this.#anchored.delete(chassis);
  }

  #forget(network: string): void {
    this.#memories.delete(network);
    this.#wakes.delete(network);
    this.#joining.delete(network);
    for (const key of this.#announced.keys()) if (key.startsWith(`${network}/`)) this.#announced.delete(key);
  }

  #isAnnounced(key: string, { isConnected, knownRevision }: HubFacts): boolean {
    const revision = this.#announced.get(key);
    return isConnected && revision !== undefined && knownRevision >= revision;
  }

  /** Gateways that are in some order or have been usable for long enough; all of them while no gateway holds a port. */
  #joined(
    network: string,
    {
      gateways,
      paths,
      nowMs,
    }: { readonly gateways: readonly GatewayFacts[]; readonly paths: readonly PathFacts[]; readonly nowMs: number },
    before: ReadonlyMap<number, AnchorMemory> | undefined,
  ): readonly GatewayFacts[] {
    const isIdle = paths.every(({ holder }) => holder === '');
    const orders = [...paths.map(({ present }) => present), ...(before?.values() ?? []).map(({ order }) => order)];
    const known = new Set(orders.flat());
    const [sinceBefore, joining] = [this.#joining.get(network), new Map<string, number>()];
    this.#joining.set(network, joining);
    return gateways.filter(({ chassis, isUsable }) => {
      if (known.has(chassis) || isIdle) return true;
      if (!isUsable) return false;
      const sinceMs = sinceBefore?.get(chassis) ?? nowMs;
      joining.set(chassis, sinceMs);
      return nowMs - sinceMs >= joinMs;
    });
  }

  /**
   * Where no other gateway is left, those that count as dead are used: nothing would be gained without them. A gateway
   * that is cut off from another keeps what it has and gets nothing new, because only a return of contact shows that it
   * will stay.
   */
  #gateways(
    gateways: readonly GatewayFacts[],
    paths: readonly PathFacts[],
    { cuts, lost }: CutView,
  ): readonly AnchorGateway[] {
    const cutOff = cutOffBy(cuts);
    const anchors = new Set([...this.#current(), ...paths.flatMap(({ present }) => present.slice(0, 1))]);
    const able = gateways.filter(({ isSelected, isUsable, isDrained }) => isSelected && isUsable && !isDrained);
    const alive = able.filter(
      ({ chassis }) => !this.#dead.has(chassis) && !lost.has(chassis) && (!cutOff.has(chassis) || anchors.has(chassis)),
    );
    const eligible = new Set((alive.length > 0 ? alive : able).map(({ chassis }) => chassis));
    return gateways.map(({ chassis, isGone }) => ({
      chassis,
      isGone: isGone || lost.has(chassis),
      isEligible: eligible.has(chassis),
    }));
  }

  /**
   * A gateway that holds another port is alive, whatever keeps it from this one. Returns whether another gateway counts
   * as dead now.
   */
  #declareDead(memories: ReadonlyMap<number, AnchorMemory>, paths: readonly PathFacts[], nowMs: number): boolean {
    const holders = new Set(paths.map(({ holder }) => holder));
    let isNews = false;
    for (const { order, awaySinceMs } of memories.values()) {
      const [anchor] = order;
      if (anchor === undefined || awaySinceMs === undefined || nowMs - awaySinceMs < deadAfterMs) continue;
      if (this.#dead.has(anchor) || holders.has(anchor)) continue;
      this.#dead.set(anchor, nowMs);
      isNews = true;
    }
    return isNews;
  }

  /** A gateway is alive again once it holds a port, or once its tunnels came up after it was lost. */
  #declareAlive(gateways: readonly GatewayFacts[], paths: readonly PathFacts[]): void {
    const holders = new Set(paths.map(({ holder }) => holder));
    for (const { chassis, upSinceMs } of gateways) {
      const sinceMs = this.#dead.get(chassis);
      if (sinceMs === undefined) continue;
      // It was lost `deadAfterMs` before that was certain.
      const isUp = upSinceMs !== undefined && upSinceMs > sinceMs - deadAfterMs;
      if (isUp || holders.has(chassis)) this.#dead.delete(chassis);
    }
  }
}
