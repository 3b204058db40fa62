/**
 * Reads BGP of one cluster with the speakers' parsers. In: a client. Out: a BgpReading. Called by the commands of `isthmus bgp`. Data that affects a
 * result and cannot be read is an error, and is never omitted.
 * @throws KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import type { BgpState, EndpointSlice } from '../../lib/bgp/objects.ts';
import { parseIptablesEip, parseOvnEip } from '../../lib/bgp/parse/eip.ts';
import { parseLoadBalancerPool } from '../../lib/bgp/parse/load-balancer-pool.ts';
import { parseNode } from '../../lib/bgp/parse/node.ts';
import { parseNodeState } from '../../lib/bgp/parse/node-state.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from '../../lib/bgp/parse/own-kinds.ts';
import { parsePod } from '../../lib/bgp/parse/pod.ts';
import { remoteView } from '../../lib/bgp/parse/remote.ts';
import { parseEndpointSlice, parseService } from '../../lib/bgp/parse/service.ts';
import { parseSubnet } from '../../lib/bgp/parse/subnet.ts';
import { valuesOfText } from '../../lib/bgp/values.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  endpointSlices,
  iptablesEips,
  keyOf,
  loadBalancerPools,
  namespaces,
  nodes,
  ovnEips,
  pods,
  routePolicies,
  services,
  subnets,
} from '../../lib/kube/resources.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import type { RawObject, Resource } from '../../lib/kube/types.ts';
import { joinSliced, type SlicedView } from '../../lib/slices/slice.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type { BgpReading } from '../model/bgp.ts';
import { type Cluster, type ClusterFlags, withCluster } from './cluster.ts';

type List = <T>(resource: Resource, parse: (raw: RawObject) => T) => Promise<ReadonlyMap<string, T>>;

/** Reads all objects that affect announcements. */
export function readBgp(flags: ClusterFlags, terminal: Terminal): Promise<BgpReading> {
  return withCluster(flags, terminal, async (cluster) => {
    const list = lister(cluster, flags, terminal);
    const [reading, sources] = await Promise.all([readSessionsBy(list, cluster), readSources(list)]);
    return { ...reading, state: { ...reading.state, ...sources } };
  });
}

/** Reads only sessions, without announced objects. */
export function readSessions(flags: ClusterFlags, terminal: Terminal): Promise<BgpReading> {
  return withCluster(flags, terminal, (cluster) => readSessionsBy(lister(cluster, flags, terminal), cluster));
}

async function readSessionsBy(list: List, { label }: Cluster): Promise<BgpReading> {
  const [machines, instances, peers, nodeStates, learned] = await Promise.all([
    list(nodes, parseNode),
    list(bgpInstances, parseBgpInstance),
    list(bgpPeers, parseBgpPeer),
    list(bgpNodeStates, parseNodeState),
    listJoined(list, learnedView),
  ]);
  const none = new Map<string, never>();
  const nothing = { namespaces: none, advertisements: none, subnets: none, pods: none, services: none, slices: none };
  const withValues = withObjectsOfValues(instances, peers, nodeStates);
  const also = { loadBalancerPools: none, eips: none, remotes: none, policies: none, neighbors: none };
  const state = { node: '', nodes: machines, ...withValues, ...nothing, ...also };
  return { label, state, nodeStates, learned };
}

/** Adds the objects from the chart's values, which are the same for all nodes and are part of the BgpNodeStates. */
function withObjectsOfValues(
  instances: BgpState['instances'],
  peers: BgpState['peers'],
  nodeStates: BgpReading['nodeStates'],
): Pick<BgpState, 'instances' | 'peers'> {
  const specs = [...nodeStates.values()].flatMap(({ values }) =>
    values === undefined ? [] : (valuesOfText(values) ?? []),
  );
  const named = <T extends { readonly name: string }>(each: T) => [each.name, each] as const;
  return {
    instances: new Map([...instances, ...specs.map(({ instance }) => named(instance))]),
    peers: new Map([...peers, ...specs.flatMap((each) => each.peers.map(named))]),
  };
}

async function readSources(list: List): Promise<Omit<BgpReading['state'], 'node' | 'nodes' | 'instances' | 'peers'>> {
  const [spaces, advertisements, networks, pools, workloads, balanced, slices, ovn, iptables, remotes, policies] =
    await Promise.all([
      list(namespaces, ({ metadata }) => metadata.labels ?? {}),
      list(bgpAdvertisements, parseBgpAdvertisement),
      list(subnets, parseSubnet),
      list(loadBalancerPools, parseLoadBalancerPool).catch(orNone),
      list(pods, parsePod),
      list(services, parseService),
      list(endpointSlices, parseEndpointSlice),
      list(ovnEips, parseOvnEip).catch(orNone),
      list(iptablesEips, parseIptablesEip).catch(orNone),
      listJoined(list, remoteView).catch(orNone),
      list(routePolicies, parseRoutePolicy).catch(orNone),
    ]);
  return {
    namespaces: spaces,
    advertisements,
    subnets: networks,
    loadBalancerPools: pools,
    pods: workloads,
    services: balanced,
    slices: byService(slices),
    eips: new Map([...ovn.values(), ...iptables.values()].map((eip) => [`${eip.kind}/${eip.name}`, eip])),
    remotes,
    policies,
    // The speaker of a node reports its neighbours.
    neighbors: new Map(),
  };
}

function lister({ client }: Cluster, flags: ClusterFlags, terminal: Terminal): List {
  const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
  return async (resource, parse) => {
    const found = await client.list(resource, { signal });
    return new Map(found.map((raw) => [keyOf(raw.metadata), parse(raw)]));
  };
}

/** The learned routes of each node. */
const learnedView: SlicedView<BgpRoute, readonly BgpRoute[], readonly BgpRoute[]> = {
  kind: bgpRoutes,
  merge: (routes) => routes,
  parse: () => (routes) => routes,
};

async function listJoined<Entry, Merged, T>(
  list: List,
  view: SlicedView<Entry, Merged, T>,
): Promise<ReadonlyMap<string, T>> {
  const [owners, slices] = await Promise.all([
    list(view.kind.owners, (raw) => raw),
    list(view.kind.slices, (raw) => raw),
  ]);
  return joinSliced(view, [...owners.values()], [...slices.values()]);
}

/** Returns no objects for a kind that this cluster does not have. */
function orNone(error: unknown): ReadonlyMap<string, never> {
  if (error instanceof KubeApiError && error.status === 404) return new Map<string, never>();
  throw error;
}

function byService(
  slices: ReadonlyMap<string, EndpointSlice>,
): ReadonlyMap<string, ReadonlyMap<string, EndpointSlice>> {
  const grouped = new Map<string, Map<string, EndpointSlice>>();
  for (const [key, slice] of slices)
    grouped.set(slice.service, (grouped.get(slice.service) ?? new Map<string, EndpointSlice>()).set(key, slice));
  return grouped;
}
