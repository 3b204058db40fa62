// The way in: reflectors mirror the kinds a speaker depends on, and `state` is their sum at every moment. main.ts subscribes once and plans
// anew with what changed; nothing here decides anything.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { parseIptablesEip, parseOvnEip } from '../../lib/bgp/parse/eip.ts';
import { parseNode } from '../../lib/bgp/parse/node.ts';
import { parseNodeState } from '../../lib/bgp/parse/node-state.ts';
import type { ObjectsOfValues } from '../../lib/bgp/values.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from '../../lib/bgp/parse/own-kinds.ts';
import { parsePod } from '../../lib/bgp/parse/pod.ts';
import { parseRemote } from '../../lib/bgp/parse/remote.ts';
import { parseEndpointSlice, parseService } from '../../lib/bgp/parse/service.ts';
import { parseSubnet } from '../../lib/bgp/parse/subnet.ts';
import type { EndpointSlice, Labels, ObjectRef } from '../../lib/bgp/objects.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  endpointSlices,
  interconnects,
  iptablesEips,
  namespaces,
  nodes,
  ovnEips,
  pods,
  remoteClusters,
  routePolicies,
  secrets,
  serviceCidrs,
  services,
  subnets,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import type { KubeClient, RawObject, Reflector, ReflectorChange, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Changes } from '../model/changes.ts';
import type { PasswordSecret, SpeakerState } from '../model/objects.ts';
import { parseHubHost, parseServiceCidr, parseTransitNetwork } from './lifelines.ts';
import { parseSecret } from './secret.ts';

export interface Cluster {
  /** Resolves when all kinds were read once. */
  readonly synced: Promise<unknown>;
  /** The same object all the time; its maps change. */
  readonly state: SpeakerState;
  /** What changed since the last call. */
  takeChanges(): Changes;
  /** This node's BgpNodeState; undefined: there is none. */
  nodeState(): BgpNodeStateStatus | undefined;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly client: KubeClient;
  /** This one. */
  readonly node: string;
  /** Where the Secrets with passwords are, and their names. */
  readonly passwords: { readonly namespace: string; readonly names: readonly string[] };
  /** What flags ask for beside the objects. */
  readonly flagObjects: ObjectsOfValues | undefined;
  /** By link; it changes by itself. */
  readonly neighbors: SpeakerState['neighbors'];
  /** It changes by itself. */
  readonly ownAddresses: ReadonlySet<string>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** After every change of any object. */
  readonly onChange: () => void;
  readonly monotonicMs: () => number;
}

/** A Secret that may not be read must not keep the node from speaking BGP. */
const secretsMs = 3000;

interface Selection {
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly optional?: boolean;
}

export function watchCluster(options: ClusterOptions): Cluster {
  const { client, node, passwords, flagObjects, neighbors, ownAddresses, log, signal, onChange, monotonicMs } = options;
  const reflectors: Reflector<unknown>[] = [];
  let isEverything = false;
  let objects: ObjectRef[] = [];
  let sinceMs: number | undefined;
  const mirror = <T>(
    resource: Resource,
    parse: (raw: RawObject) => T,
    onEach: (change: ReflectorChange<T>) => void,
    selection: Selection = {},
    values = new Map<string, T>(),
  ): ReadonlyMap<string, T> => {
    const reflector = reflect({ client, resource, parse, signal, log, ...selection });
    reflector.subscribe((change) => {
      if (change.after === undefined) values.delete(change.key);
      else values.set(change.key, change.after);
      onEach(change);
      if (isEverything || objects.length > 0) sinceMs ??= monotonicMs();
      onChange();
    });
    reflectors.push(reflector);
    return values;
  };
  /** All routes may be others, where what `part` gives is. */
  const everything =
    <T>(part: (value: T) => unknown) =>
    ({ before, after }: ReflectorChange<T>): void => {
      isEverything ||= !isDeepStrictEqual(before && part(before), after && part(after));
    };
  const own =
    (source: ObjectRef['source'], prefix = '') =>
    ({ key, before, after }: ReflectorChange<unknown>): void => {
      if (!isDeepStrictEqual(before, after)) objects.push({ source, key: `${prefix}${key}` });
    };
  /** Advertisements choose pods and services by the labels of their namespaces. */
  const onNamespace = ({ key, before, after }: ReflectorChange<Labels>): void => {
    if (isDeepStrictEqual(before, after)) return;
    const inside = (name: string): boolean => name.startsWith(`${key}/`);
    for (const name of known.pods.keys()) if (inside(name)) objects.push({ source: 'Pod', key: name });
    for (const name of known.services.keys()) if (inside(name)) objects.push({ source: 'Service', key: name });
  };
  const nothing = (): void => {};
  const slices = new Map<string, Map<string, EndpointSlice>>();
  const onSlice = ({ key, before, after }: ReflectorChange<EndpointSlice>): void => {
    if (before) slices.get(before.service)?.delete(key);
    if (before && slices.get(before.service)?.size === 0) slices.delete(before.service);
    if (after)
      slices.set(after.service, (slices.get(after.service) ?? new Map<string, EndpointSlice>()).set(key, after));
    for (const each of new Set([before?.service, after?.service]))
      if (each) objects.push({ source: 'Service', key: each });
  };
  const eips = new Map<string, ReturnType<typeof parseOvnEip>>();
  const onEip =
    (kind: string) =>
    (change: ReflectorChange<ReturnType<typeof parseOvnEip>>): void => {
      if (change.after) eips.set(`${kind}/${change.key}`, change.after);
      else eips.delete(`${kind}/${change.key}`);
      own('Eip', `${kind}/`)(change);
    };
  const optional = { optional: true };
  const specOf = ({ spec, labels }: { readonly spec: unknown; readonly labels: unknown }) => ({ spec, labels });
  const known = {
    nodes: mirror(
      nodes,
      parseNode,
      everything((value) => value),
    ),
    namespaces: mirror(namespaces, (raw) => raw.metadata.labels ?? {}, onNamespace),
    instances: mirror(
      bgpInstances,
      parseBgpInstance,
      everything(specOf),
      {},
      named(flagObjects ? [flagObjects.instance] : []),
    ),
    peers: mirror(bgpPeers, parseBgpPeer, nothing, {}, named(flagObjects?.peers ?? [])),
    advertisements: mirror(bgpAdvertisements, parseBgpAdvertisement, everything(specOf)),
    subnets: mirror(
      subnets,
      parseSubnet,
      everything((value) => value),
    ),
    pods: mirror(pods, parsePod, own('Pod')),
    services: mirror(services, parseService, own('Service')),
    policies: mirror(
      routePolicies,
      parseRoutePolicy,
      everything(({ spec, inForce }) => ({ spec, inForce })),
    ),
    remotes: mirror(remoteClusters, parseRemote, own('Interconnect'), optional),
    transitSwitches: mirror(transitSwitches, parseTransitNetwork, nothing, optional),
    hubs: mirror(interconnects, parseHubHost, nothing, optional),
    serviceCidrs: mirror(serviceCidrs, parseServiceCidr, nothing, optional),
  };
  mirror(endpointSlices, parseEndpointSlice, onSlice);
  mirror(ovnEips, parseOvnEip, onEip('OvnEip'), optional);
  mirror(iptablesEips, parseIptablesEip, onEip('IptablesEIP'), optional);
  const ownState = mirror(bgpNodeStates, parseNodeState, nothing, { fieldSelector: `metadata.name=${node}` });
  const required = reflectors.map(({ synced }) => synced);

  const { namespace } = passwords;
  const secretsByName = new Map<string, PasswordSecret>();
  const secretsRead = passwords.names.map(async (name) => {
    secretsByName.set(name, 'unread');
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const onSecret = ({ after }: ReflectorChange<ReadonlyMap<string, string>>): void => {
      secretsByName.set(name, after ?? 'missing');
    };
    const values = mirror(secrets, parseSecret, onSecret, selection);
    await reflectors.at(-1)?.synced;
    if (values.size === 0) secretsByName.set(name, 'missing');
    onChange();
  });
  return {
    synced: Promise.all([
      ...required,
      Promise.race([Promise.all(secretsRead), sleep(secretsMs, undefined, { signal })]),
    ]),
    state: { node, ...known, slices, eips, secrets: secretsByName, neighbors, ownAddresses },
    takeChanges: () => {
      const changes = { isEverything, objects, sinceMs };
      isEverything = false;
      objects = [];
      sinceMs = undefined;
      return changes;
    },
    nodeState: () => ownState.get(node),
    stop: async () => {
      await Promise.all(reflectors.map((reflector) => reflector.stop()));
    },
  };
}

function named<T extends { readonly name: string }>(values: readonly T[]): Map<string, T> {
  return new Map(values.map((value) => [value.name, value]));
}
