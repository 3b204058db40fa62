/**
 * All provider networks on this node: a reconciler for each network that is requested or recorded, the bridge mappings for
 * ovn-controller, and the reports. Before the objects of Kubernetes are known, recorded moves are kept or completed, because the API
 * server may be reached over them.
 */
import type { Logger } from '../../lib/run/logger.ts';
import type { OvsdbClient } from 'ovsdb-client';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { providerBridge } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { providerNode } from '../../lib/api/provider-nodes.ts';
import { parseMove } from '../ovs/nic-move.ts';
import { decideNetwork, type Decision } from '../settle/provider-network.ts';
import { mappingsOwner, planMappings } from '../plan/underlay/rows.ts';
import { decideTunnelNetwork, tunnelNetwork } from '../settle/tunnel-network.ts';
import type { NetworkReport, NicMove, ProviderNetwork, TunnelAddress } from '../model/provider-network.ts';
import type { NicsByName } from '../model/nic.ts';
import type { UnderlayHost } from './underlay-host.ts';
import { NetworkReconciler } from './network-reconciler.ts';
import { setTimeout as pause } from 'node:timers/promises';

const noTunnelAddress = { datapathType: 'system', holder: undefined, isOnBridge: false } as const;
const pauseMs = 20;

export interface UnderlayFacts {
  readonly networks: readonly ProviderNetwork[];
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly tunnel: () => TunnelAddress;
  /** MTU of pods on this node, in bytes. */
  readonly mtu: number;
}

export interface UnderlayOptions {
  readonly node: string;
  readonly client: OvsdbClient;
  readonly target: OvsdbTarget;
  readonly host: UnderlayHost;
  /** Subscribes to changes of the interfaces with these names; returns a function that unsubscribes. */
  readonly watch: (names: () => ReadonlySet<string>, onChange: () => void) => () => void;
  readonly log: Logger;
}

export class Underlay {
  readonly #options: UnderlayOptions;
  readonly #reconcilers = new Map<string, NetworkReconciler>();
  readonly #listeners = new Set<() => void>();
  readonly #stops: (() => void)[];
  #facts: UnderlayFacts | undefined;
  #hasMappings = false;
  #lastSnapshot = '';
  /** The interfaces that networks hold, as text. */
  #heldNics = '';

  constructor(options: UnderlayOptions) {
    this.#options = options;
    this.#stops = [
      options.watch(
        () => this.#names(),
        () => this.#wakeAll(),
      ),
      options.client.subscribe(() => this.#databaseChanged()),
    ];
  }

  /** Reports of the networks that have or had an object in Kubernetes. */
  get reports(): readonly NetworkReport[] {
    return [...this.#reconcilers.values()].flatMap(({ network, report }) =>
      report === undefined || this.#isOwn(network) ? [] : report,
    );
  }

  /** Why the daemon cannot make a bridge for tunnels; and whether an interface is being moved, so that its addresses may be nowhere. */
  get tunnel(): { readonly isMoving: boolean; readonly obstacle: Problem | undefined } {
    const isMoving = [...this.#moves().values()].some(({ phase }) => phase === 'joining' || phase === 'returning');
    const obstacle = this.#isOwn(tunnelNetwork) ? this.#reconcilers.get(tunnelNetwork)?.report?.problem : undefined;
    return { isMoving, obstacle };
  }

  /** Networks to whose bridges the node routes. */
  get routed(): ReadonlySet<string> {
    // Also of one that is not ready, whose bridge stays: its addresses are kept, and what comes in by it is filtered.
    const routed = [...this.#reconcilers.values()].filter(({ routedMtu }) => routedMtu !== undefined);
    return new Set(routed.map(({ network }) => network));
  }

  /** Networks whose state is not known yet. */
  get pending(): ReadonlySet<string> {
    const unsettled = [...this.#reconcilers.values()].filter(
      ({ isSettled, network }) => !isSettled && !this.#isOwn(network),
    );
    return new Set(unsettled.map(({ network }) => network));
  }

  /** State of a network on this node; a sentence if the node is without it, undefined if that is not known yet. */
  stateOf(network: string): NetworkReport | string | undefined {
    const reconciler = this.#reconcilers.get(network);
    if (reconciler?.report !== undefined) return reconciler.report;
    const { networks, node } = this.#facts ?? { networks: [], node: undefined };
    const spec = networks.find(({ name }) => name === network)?.spec;
    if (spec === undefined || node === undefined) return `there is no ProviderNetwork ${network}`;
    const asked = providerNode({ network: { name: network, spec }, node });
    return 'absence' in asked ? asked.absence : undefined;
  }

  /** Called after each report. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resumes what an earlier run recorded. Resolves when everything is as recorded, or has a problem. */
  async resume(): Promise<void> {
    for (const [name, { move, routedMtu, owner }] of this.#options.host.bridges().bridges) {
      const recorded = parseMove(move);
      const routed = name.slice(providerBridge('').length);
      if (recorded !== undefined && name === providerBridge(recorded.network)) this.#open(recorded.network, recorded);
      else if (routedMtu !== undefined && owner !== undefined && name === providerBridge(routed))
        this.#open(routed, undefined, routedMtu);
    }
    this.#lastSnapshot = this.#snapshot();
    this.#wakeAll();
    this.#setMappings();
    await Promise.all([...this.#reconcilers.values()].map((reconciler) => reconciler.idle()));
  }

  changed(facts: UnderlayFacts): void {
    this.#facts = facts;
    for (const { name } of this.#networks()) if (!this.#reconcilers.has(name)) this.#open(name, undefined);
    this.#wakeAll();
  }

  /** Moves all interfaces out of their bridges permanently. Resolves with the obstacle; undefined if no interface is left in a bridge. */
  async giveBack(node: UnderlayFacts['node'], signal: AbortSignal): Promise<string | undefined> {
    this.changed({ networks: [], node, tunnel: () => ({ ...noTunnelAddress, hasTunnels: () => false }), mtu: 0 });
    for (;;) {
      await Promise.all([...this.#reconcilers.values()].map((reconciler) => reconciler.idle()));
      if (signal.aborted || this.#reconcilers.size === 0) break;
      const stuck = [...this.#reconcilers.values()].find(({ report }) => report?.problem !== undefined);
      if (stuck !== undefined) return stuck.report?.problem?.message;
      // Reconcilers that are over are removed after their last round.
      await pause(pauseMs);
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#options.host.close();
    await Promise.all([...this.#reconcilers.values()].map((reconciler) => reconciler.close()));
    this.#options.host.closeSockets();
  }

  #open(network: string, move: NicMove | undefined, routedMtu?: number): void {
    const reconciler = new NetworkReconciler({
      network,
      node: this.#options.node,
      move,
      routedMtu,
      host: this.#options.host,
      decide: (nics) => this.#decide(network, nics),
      onRound: () => this.#ended(reconciler),
      log: this.#options.log,
    });
    this.#reconcilers.set(network, reconciler);
  }

  #decide(network: string, nics: NicsByName): Decision {
    const moves = this.#moves();
    const move = moves.get(network);
    if (this.#facts !== undefined)
      return decideNetwork(network, {
        networks: this.#networks(),
        node: this.#facts.node,
        nics,
        moves,
        ovs: this.#options.host.bridges(),
        mtu: this.#facts.mtu,
      });
    const mtu = this.#reconcilers.get(network)?.routedMtu;
    if (mtu !== undefined) return { kind: 'route', nic: providerBridge(network), mtu };
    return move === undefined ? { kind: 'absent' } : { kind: 'join', nic: move.nic, wish: move.wish };
  }

  #ended(reconciler: NetworkReconciler): void {
    if (reconciler.isOver && !this.#networks().some(({ name }) => name === reconciler.network))
      this.#reconcilers.delete(reconciler.network);
    this.#setMappings();
    // Another network may wait for an interface that this one has released.
    const held = JSON.stringify([...this.#moves().values()].map(({ nic, phase }) => [nic, phase === 'rolledBack']));
    if (held !== this.#heldNics) for (const other of this.#reconcilers.values()) if (other !== reconciler) other.wake();
    this.#heldNics = held;
    for (const listener of this.#listeners) listener();
  }

  /** The networks of Kubernetes, and the tunnel network if the node needs one. */
  #networks(): readonly ProviderNetwork[] {
    if (this.#facts === undefined) return [];
    const { networks, node, tunnel } = this.#facts;
    const own = decideTunnelNetwork({ ...tunnel(), networks, node, move: this.#moves().get(tunnelNetwork) });
    return own === undefined ? networks : [...networks, own];
  }

  #isOwn(network: string): boolean {
    return network === tunnelNetwork && this.#facts?.networks.some(({ name }) => name === network) !== true;
  }

  #wakeAll(): void {
    for (const reconciler of this.#reconcilers.values()) reconciler.wake();
  }

  #moves(): ReadonlyMap<string, NicMove> {
    return new Map(
      [...this.#reconcilers.values()].flatMap(({ network, move }) => (move ? [[network, move] as const] : [])),
    );
  }

  #names(): ReadonlySet<string> {
    const wanted = this.#networks().flatMap(({ spec }) =>
      [spec?.defaultInterface ?? [], (spec?.customInterfaces ?? []).map((one) => one.interface)].flat(),
    );
    return new Set([...wanted, ...[...this.#reconcilers.keys()].map(providerBridge)]);
  }

  /** Reacts to changes of networks only, because ports of pods come and go. */
  #databaseChanged(): void {
    const now = this.#snapshot();
    if (now === this.#lastSnapshot) return;
    this.#lastSnapshot = now;
    this.#setMappings();
    this.#wakeAll();
  }

  #snapshot(): string {
    const { host } = this.#options;
    const { bridges, ...settings } = host.bridges();
    const own = [...this.#reconcilers.values()].map(({ network, move, routedMtu }) => [
      bridges.get(providerBridge(network)),
      routedMtu && host.portState(providerBridge(network)),
      move && [host.portState(move.nic), host.portState(providerBridge(network))],
    ]);
    return JSON.stringify([own, settings]);
  }

  #setMappings(): void {
    const { host, target } = this.#options;
    const bridges = host.bridges();
    const joined = [...this.#reconcilers.values()]
      .filter(({ move, routedMtu }) => move?.phase === 'joined' || routedMtu !== undefined)
      .map(({ network }) => network);
    const hasOwn = bridges.ownMappings !== '' || bridges.ownRouterMacs !== '';
    if (joined.length === 0 && !hasOwn && !this.#hasMappings) return;
    // This stays set: to drop the owner would remove entries of other owners too.
    this.#hasMappings = true;
    const desired = planMappings(joined, this.#options.node, bridges);
    if (JSON.stringify(target.desired(mappingsOwner)) !== JSON.stringify(desired)) target.set(mappingsOwner, desired);
  }
}
