/**
 * All provider networks on this node: a lane for each that is asked for or recorded, the mappings that tell ovn-controller
 * of them, and what is told of them. In: `changed` after any fact changed. Before Kubernetes was heard, what is recorded is
 * kept or finished: the way to the API server may lie on it.
 */
import type { Logger } from '../../lib/run/logger.ts';
import type { OvsdbClient } from 'ovsdb-client';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { providerBridge } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { providerNode } from '../../lib/api/provider-nodes.ts';
import { parseMove } from '../ovs/nic-move.ts';
import { decide, type Decision } from '../settle/provider-network.ts';
import { mappingsOwner, planMappings } from '../plan/underlay/rows.ts';
import { planTunnelNetwork, tunnelNetwork } from '../settle/tunnel-network.ts';
import type { NetworkReport, NicMove, ProviderNetwork, TunnelAddress } from '../model/provider-network.ts';
import type { NicsByName } from '../model/nic.ts';
import type { UnderlayHost } from './underlay-host.ts';
import { NetworkLane } from './underlay-network.ts';
import { setTimeout as pause } from 'node:timers/promises';

const nowhere = { datapathType: 'system', holder: undefined, isOnBridge: false } as const;
const laneMs = 20;

export interface UnderlayFacts {
  readonly networks: readonly ProviderNetwork[];
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly tunnel: () => TunnelAddress;
}

export interface UnderlayOptions {
  readonly node: string;
  readonly client: OvsdbClient;
  readonly target: OvsdbTarget;
  readonly host: UnderlayHost;
  /** Subscribes to changes of the interfaces of these names; returns how to stop. */
  readonly watch: (names: () => ReadonlySet<string>, onChange: () => void) => () => void;
  readonly log: Logger;
}

export class Underlay {
  readonly #options: UnderlayOptions;
  readonly #lanes = new Map<string, NetworkLane>();
  readonly #listeners = new Set<() => void>();
  readonly #stops: (() => void)[];
  #facts: UnderlayFacts | undefined;
  #hasMapped = false;
  #seen = '';
  /** Which interfaces are held, as text. */
  #held = '';

  constructor(options: UnderlayOptions) {
    this.#options = options;
    this.#stops = [
      options.watch(
        () => this.#names(),
        () => this.#wake(),
      ),
      options.client.subscribe(() => this.#databaseChanged()),
    ];
  }

  /** Of networks that have an object in Kubernetes, or had one. */
  get reports(): readonly NetworkReport[] {
    return [...this.#lanes.values()].flatMap(({ network, report }) =>
      report === undefined || this.#isOwn(network) ? [] : report,
    );
  }

  /** What keeps the daemon from making a bridge for tunnels; and whether an interface is on its way, so that its addresses may be nowhere. */
  get tunnel(): { readonly isMoving: boolean; readonly obstacle: Problem | undefined } {
    const isMoving = [...this.#moves().values()].some(({ phase }) => phase === 'joining' || phase === 'returning');
    const obstacle = this.#isOwn(tunnelNetwork) ? this.#lanes.get(tunnelNetwork)?.report?.problem : undefined;
    return { isMoving, obstacle };
  }

  /** Networks of which nothing is known yet. */
  get pending(): ReadonlySet<string> {
    const unsettled = [...this.#lanes.values()].filter(({ isSettled, network }) => !isSettled && !this.#isOwn(network));
    return new Set(unsettled.map((lane) => lane.network));
  }

  /** How a network is here; a sentence where the node is without it, undefined where that is not known yet. */
  stateOf(network: string): NetworkReport | string | undefined {
    const lane = this.#lanes.get(network);
    if (lane?.report !== undefined) return lane.report;
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

  /** Takes up what an earlier run left. Resolves when all of it is as recorded, or somebody was told why not. */
  async resume(): Promise<void> {
    for (const [name, { move }] of this.#options.host.bridges().bridges) {
      const recorded = parseMove(move);
      if (recorded !== undefined && name === providerBridge(recorded.network)) this.#open(recorded.network, recorded);
    }
    this.#seen = this.#glance();
    this.#wake();
    this.#map();
    await Promise.all([...this.#lanes.values()].map((lane) => lane.idle()));
  }

  changed(facts: UnderlayFacts): void {
    this.#facts = facts;
    for (const { name } of this.#networks()) if (!this.#lanes.has(name)) this.#open(name, undefined);
    this.#wake();
  }

  /** All interfaces out of their bridges, for good. Resolves with what is in the way; undefined when none is left. */
  async giveBack(node: UnderlayFacts['node'], signal: AbortSignal): Promise<string | undefined> {
    this.changed({ networks: [], node, tunnel: () => ({ ...nowhere, hasTunnels: () => false }) });
    for (;;) {
      await Promise.all([...this.#lanes.values()].map((lane) => lane.idle()));
      if (signal.aborted || this.#lanes.size === 0) break;
      const stuck = [...this.#lanes.values()].find(({ report }) => report?.problem !== undefined);
      if (stuck !== undefined) return stuck.report?.problem?.message;
      // Ended lanes are taken off by what is called after their last round.
      await pause(laneMs);
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#options.host.close();
    await Promise.all([...this.#lanes.values()].map((lane) => lane.close()));
    this.#options.host.closeSockets();
  }

  #open(network: string, move: NicMove | undefined): void {
    const lane = new NetworkLane({
      network,
      node: this.#options.node,
      move,
      host: this.#options.host,
      decide: (nics) => this.#decide(network, nics),
      onRound: () => this.#ended(lane),
      log: this.#options.log,
    });
    this.#lanes.set(network, lane);
  }

  #decide(network: string, nics: NicsByName): Decision {
    const moves = this.#moves();
    const move = moves.get(network);
    if (this.#facts !== undefined)
      return decide(network, {
        networks: this.#networks(),
        node: this.#facts.node,
        nics,
        moves,
        ovs: this.#options.host.bridges(),
      });
    return move === undefined ? { kind: 'absent' } : { kind: 'join', nic: move.nic, wish: move.wish };
  }

  #ended(lane: NetworkLane): void {
    if (lane.isOver && !this.#networks().some(({ name }) => name === lane.network)) this.#lanes.delete(lane.network);
    this.#map();
    // An interface that one network lets go may be what another waits for.
    const held = JSON.stringify([...this.#moves().values()].map(({ nic, phase }) => [nic, phase === 'rolledBack']));
    if (held !== this.#held) for (const other of this.#lanes.values()) if (other !== lane) other.wake();
    this.#held = held;
    for (const listener of this.#listeners) listener();
  }

  /** Those of Kubernetes, and that of the daemon where tunnels need it. */
  #networks(): readonly ProviderNetwork[] {
    if (this.#facts === undefined) return [];
    const { networks, node, tunnel } = this.#facts;
    const own = planTunnelNetwork({ ...tunnel(), networks, node, move: this.#moves().get(tunnelNetwork) });
    return own === undefined ? networks : [...networks, own];
  }

  #isOwn(network: string): boolean {
    return network === tunnelNetwork && this.#facts?.networks.some(({ name }) => name === network) !== true;
  }

  #wake(): void {
    for (const lane of this.#lanes.values()) lane.wake();
  }

  #moves(): ReadonlyMap<string, NicMove> {
    return new Map([...this.#lanes.values()].flatMap(({ network, move }) => (move ? [[network, move] as const] : [])));
  }

  #names(): ReadonlySet<string> {
    const wanted = this.#networks().flatMap(({ spec }) =>
      spec === undefined ? [] : [spec.defaultInterface, ...(spec.customInterfaces ?? []).map((one) => one.interface)],
    );
    return new Set([...wanted, ...[...this.#lanes.keys()].map(providerBridge)]);
  }

  /** Only what is of networks: pods' ports come and go. */
  #databaseChanged(): void {
    const now = this.#glance();
    if (now === this.#seen) return;
    this.#seen = now;
    this.#map();
    this.#wake();
  }

  #glance(): string {
    const { host } = this.#options;
    const { bridges, ...settings } = host.bridges();
    const own = [...this.#lanes.values()].map(({ network, move }) => [
      bridges.get(providerBridge(network)),
      move && [host.portState(move.nic), host.portState(providerBridge(network))],
    ]);
    return JSON.stringify([own, settings]);
  }

  #map(): void {
    const { host, target } = this.#options;
    const bridges = host.bridges();
    const joined = [...this.#lanes.values()].filter(({ move }) => move?.phase === 'joined').map((lane) => lane.network);
    const hasOwn = bridges.ownMappings !== '' || bridges.ownRouterMacs !== '';
    if (joined.length === 0 && !hasOwn && !this.#hasMapped) return;
    // From now on for good: taken back, the entries of others would go with ours.
    this.#hasMapped = true;
    const desired = planMappings(joined, this.#options.node, bridges);
    if (JSON.stringify(target.desired(mappingsOwner)) !== JSON.stringify(desired)) target.set(mappingsOwner, desired);
  }
}
