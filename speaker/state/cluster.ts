/**
 * The objects that the speaker reads, by kind and key, and which of their changes affect routes.
 *
 * In: `change`, for each object that was added, changed or deleted. Out: `objects`, always the same maps, and
 * `takeChanges`, the changes since the last call, for `plan/plan.ts`. No I/O and no decisions here.
 */
import { isDeepStrictEqual } from 'node:util';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import type { EndpointSlice, ObjectRef } from '../../lib/bgp/objects.ts';
import { addressesOf } from '../../lib/bgp/offers/view.ts';
import { entriesOf } from '../../lib/slices/slice.ts';
import type { Changes } from '../model/changes.ts';
import type { ObjectKind, OwnState, SpeakerState, WatchedObjects } from '../model/objects.ts';

export interface ClusterOptions {
  /** Name of this node. */
  readonly node: string;
  /** Objects from flags, which exist from the start. */
  readonly instances: SpeakerState['instances'];
  readonly peers: SpeakerState['peers'];
  /** Neighbours by link; the map is live. */
  readonly neighbors: SpeakerState['neighbors'];
  /** The set is live. */
  readonly ownAddresses: ReadonlySet<string>;
  readonly monotonicMs: () => number;
}

type Maps = { readonly [Kind in ObjectKind]: Map<string, WatchedObjects[Kind]> };

/** For each kind, the part of an object on which all routes depend: if it changes, the next plan computes all routes. */
const sharedParts: { readonly [Kind in ObjectKind]?: (value: WatchedObjects[Kind]) => unknown } = {
  nodes: (value) => value,
  subnets: (value) => value,
  // No EIP with the address of a router is announced.
  peers: ({ spec }) => ('value' in spec ? spec.value.address : undefined),
  // No external IP of a Service with one of these is announced.
  eips: (value) => {
    const ips = addressesOf(value);
    return ips.length === 0 ? undefined : ips;
  },
  loadBalancerPools: (value) => value,
  instances: ({ spec, labels }) => ({ spec, labels }),
  advertisements: ({ spec, labels }) => ({ spec, labels }),
  policies: ({ spec, inForce }) => ({ spec, inForce }),
};

/** Kinds whose objects offer prefixes: a change affects only the routes of the object. */
const sources: { readonly [Kind in ObjectKind]?: ObjectRef['source'] } = {
  pods: 'Pod',
  services: 'Service',
  eips: 'Eip',
  remotes: 'Interconnect',
};

export class Cluster {
  #objects: SpeakerState;
  readonly #maps: Maps;
  /** Slices by service, then by name of the slice. */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #node: string;
  readonly #monotonicMs: () => number;
  #isEverything = false;
  #changed: ObjectRef[] = [];
  #sinceMs: number | undefined;

  constructor({ node, instances, peers, neighbors, ownAddresses, monotonicMs }: ClusterOptions) {
    this.#node = node;
    this.#monotonicMs = monotonicMs;
    this.#maps = {
      nodes: new Map(),
      namespaces: new Map(),
      instances: new Map(instances),
      peers: new Map(peers),
      advertisements: new Map(),
      subnets: new Map(),
      loadBalancerPools: new Map(),
      pods: new Map(),
      services: new Map(),
      slices: new Map(),
      eips: new Map(),
      policies: new Map(),
      remotes: new Map(),
      transitSwitches: new Map(),
      hubs: new Map(),
      serviceCidrs: new Map(),
      secrets: new Map(),
      nodeStates: new Map(),
      routeSlices: new Map(),
    };
    this.#objects = { ...this.#maps, node, slices: this.#slices, neighbors, ownAddresses };
  }

  /** The maps in it change with the objects. */
  get objects(): SpeakerState {
    return this.#objects;
  }

  /** Whether this node may have the port of a router outside. */
  get isGateway(): boolean {
    for (const { routerPort } of this.#maps.eips.values())
      if (routerPort !== undefined && (routerPort.nodes.includes(this.#node) || routerPort.holder === this.#node))
        return true;
    return false;
  }

  /** Sets whether the switch of this node is down. */
  setSwitch(isDown: boolean): void {
    this.#objects = { ...this.#objects, isSwitchDown: isDown };
    this.#isEverything = true;
    this.#sinceMs ??= this.#monotonicMs();
  }

  /** This node's BgpNodeState; undefined if it does not exist. */
  get nodeState(): OwnState | undefined {
    return this.#maps.nodeStates.get(this.#node);
  }

  /** The learned routes of this node, as last written. */
  get learned(): readonly BgpRoute[] {
    const state = this.nodeState;
    if (state === undefined) return [];
    return entriesOf({ name: this.#node, uid: state.uid }, this.#maps.routeSlices.values()) ?? state.sample;
  }

  /** @param after undefined if the object was deleted */
  change<Kind extends ObjectKind>(kind: Kind, key: string, after: WatchedObjects[Kind] | undefined): void {
    const values: Map<string, WatchedObjects[Kind]> = this.#maps[kind];
    const before = values.get(key);
    if (after === undefined) values.delete(key);
    else values.set(key, after);
    if (kind === 'slices') this.#regroup(key, before as EndpointSlice | undefined, after as EndpointSlice | undefined);
    else if (!isDeepStrictEqual(before, after)) this.#note(kind, key, before, after);
    if (this.#isEverything || this.#changed.length > 0) this.#sinceMs ??= this.#monotonicMs();
  }

  /** The changes since the last call. */
  takeChanges(): Changes {
    const changes = { isEverything: this.#isEverything, objects: this.#changed, sinceMs: this.#sinceMs };
    this.#isEverything = false;
    this.#changed = [];
    this.#sinceMs = undefined;
    return changes;
  }

  #note<Kind extends ObjectKind>(
    kind: Kind,
    key: string,
    before: WatchedObjects[Kind] | undefined,
    after: WatchedObjects[Kind] | undefined,
  ): void {
    const source = sources[kind];
    const part = sharedParts[kind];
    if (source !== undefined) this.#changed.push({ source, key });
    if (kind === 'eips') this.#notePort(key);
    if (kind === 'namespaces') this.#noteNamespace(key);
    if (part !== undefined) this.#isEverything ||= !isDeepStrictEqual(before && part(before), after && part(after));
  }

  /** The node of a router's port is in the OvnEip with the address of the router. */
  #notePort(port: string): void {
    for (const [key, { gatewayPort }] of this.#maps.eips)
      if (port === `OvnEip/${gatewayPort}`) this.#changed.push({ source: 'Eip', key });
  }

  /** Advertisements select pods and services also by the labels of their namespaces. */
  #noteNamespace(name: string): void {
    for (const kind of ['pods', 'services'] as const)
      for (const key of this.#maps[kind].keys())
        if (key.startsWith(`${name}/`)) this.#changed.push({ source: kind === 'pods' ? 'Pod' : 'Service', key });
  }

  #regroup(key: string, before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    if (before) this.#slices.get(before.service)?.delete(key);
    if (before && this.#slices.get(before.service)?.size === 0) this.#slices.delete(before.service);
    if (after) {
      const slices = this.#slices.get(after.service) ?? new Map<string, EndpointSlice>();
      this.#slices.set(after.service, slices.set(key, after));
    }
    for (const service of new Set([before?.service, after?.service]))
      if (service !== undefined) this.#changed.push({ source: 'Service', key: service });
  }
}
