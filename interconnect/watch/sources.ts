/** Everything the agent watches, and which database changes can matter to it. */
import type { Change } from 'ovsdb-client';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import type { RemotePod } from '../../lib/api/kinds/remote-pod-slice.ts';
import { parsePolicyRules } from '../../lib/policies/parse.ts';
import { parseAdminRules, parseBaselineRules, parseClusterRules } from '../../lib/policies/parse-cluster.ts';
import type { AnyPolicy } from '../../lib/policies/policy.ts';
import { remotePeersOf, type RemotePeer } from '../../lib/policies/remote-peers.ts';
import { remotePods } from '../../lib/slices/remote-pods.ts';
import { textsOf } from '../../lib/ovn/columns.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  gatewayKeySlices,
  interconnectGateways,
  endpointSlices,
  interconnects,
  loadBalancerPools,
  namespaces,
  networkPolicies,
  nodes,
  services,
  remoteClusters,
  remotePodSlices,
  remoteRouteSlices,
  routePolicies,
  serviceCidrs,
  serviceExports,
  serviceImports,
  sharedAddresses,
  subnets,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import { reflectSliced } from '../../lib/slices/reflect.ts';
import { parseSlice, type Slice } from '../../lib/slices/slice.ts';
import { learnedView, type LearnedPrefix } from './edges.ts';
import {
  parseGateway,
  parseInterconnect,
  parseKeySlice,
  parseNode,
  parseReport,
  parseServiceCidr,
  parseSubnet,
  parseTransitSwitch,
} from './objects.ts';
import {
  parseGlobalService,
  parseImportedSlice,
  parseServiceExport,
  parseServiceImport,
  parseSharedAddress,
  parseSharedPool,
} from './service-objects.ts';
import type { KeySliceObject } from '../model/key-slice.ts';
import type { GatewayObject, Interconnect, Node, Report, Subnet, TransitSwitchObject } from '../model/objects.ts';
import {
  sliceLabel,
  slicesOfAgent,
  type GlobalService,
  type ImportedSlice,
  type ServiceExportObject,
  type ServiceImportObject,
  type SharedAddressObject,
  type SharedPool,
} from '../model/service-objects.ts';

export interface NamespaceObject {
  readonly isDeleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Sources {
  readonly interconnects: Reflector<Interconnect>;
  readonly subnets: Reflector<Subnet>;
  readonly nodes: Reflector<Node>;
  readonly gateways: Reflector<GatewayObject>;
  readonly keySlices: Reflector<KeySliceObject>;
  readonly remoteClusters: Reflector<Report>;
  readonly remoteRouteSlices: Reflector<Slice<RemoteRoute>>;
  readonly transitSwitches: Reflector<TransitSwitchObject>;
  readonly routePolicies: Reflector<RoutePolicy>;
  /** Clusters without speakers may not have the kind. */
  readonly bgpNodeStates: Reflector<readonly LearnedPrefix[]>;
  /** Served from Kubernetes 1.33 on. */
  readonly serviceCidrs: Reflector<readonly Cidr[]>;
  readonly namespaces: Reflector<NamespaceObject>;
  readonly remotePodSlices: Reflector<Slice<RemotePod>>;
  /** By policy: its peers in other clusters. */
  readonly networkPolicyPeers: Reflector<readonly RemotePeer[]>;
  /** Of policies of the whole cluster, whose kinds may not be installed. */
  readonly clusterPolicyPeers: Reflector<readonly RemotePeer[]>;
  readonly adminPolicyPeers: Reflector<readonly RemotePeer[]>;
  readonly baselinePolicyPeers: Reflector<readonly RemotePeer[]>;
  /** Clusters without the CRDs of the Multi-Cluster Services API do not have these kinds. */
  readonly serviceExports: Reflector<ServiceExportObject>;
  readonly serviceImports: Reflector<ServiceImportObject>;
  /** All Services, of which only annotations are kept: the API server cannot select by these. */
  readonly globalServices: Reflector<GlobalService>;
  /** EndpointSlices of imports, which the agent made. */
  readonly importedSlices: Reflector<ImportedSlice>;
  /** All LoadBalancerPools. An installation that brings the CRDs by itself may not have these two kinds yet. */
  readonly sharedPools: Reflector<SharedPool>;
  readonly sharedAddresses: Reflector<SharedAddressObject>;
}

export function watchSources(client: KubeClient, signal: AbortSignal, log: Logger): Sources {
  const watch = <T>(resource: Resource, parse: (raw: RawObject) => T): Reflector<T> =>
    reflect({ client, resource, parse, signal, log });
  const watchOptional = <T>(resource: Resource, parse: (raw: RawObject) => T): Reflector<T> =>
    reflect({ client, resource, parse, signal, log, optional: true });
  return {
    interconnects: watch(interconnects, parseInterconnect),
    subnets: watch(subnets, parseSubnet),
    nodes: watch(nodes, parseNode),
    gateways: watch(interconnectGateways, parseGateway),
    keySlices: watchOptional(gatewayKeySlices, parseKeySlice),
    remoteClusters: watch(remoteClusters, parseReport),
    remoteRouteSlices: watch(remoteRouteSlices, (raw) => parseSlice(remoteRoutes, raw)),
    transitSwitches: watch(transitSwitches, parseTransitSwitch),
    routePolicies: watch(routePolicies, parseRoutePolicy),
    bgpNodeStates: reflectSliced(learnedView, { client, signal, log, optional: true }),
    serviceCidrs: watchOptional(serviceCidrs, parseServiceCidr),
    namespaces: watch(namespaces, ({ metadata }) => ({
      isDeleting: metadata.deletionTimestamp !== undefined,
      labels: metadata.labels ?? {},
    })),
    remotePodSlices: watchOptional(remotePodSlices, (raw) => parseSlice(remotePods, raw)),
    networkPolicyPeers: watch(networkPolicies, (raw) => peersIn(parsePolicyRules(raw))),
    clusterPolicyPeers: watchOptional(clusterNetworkPolicies, (raw) => peersIn(parseClusterRules(raw))),
    adminPolicyPeers: watchOptional(adminNetworkPolicies, (raw) => peersIn(parseAdminRules(raw))),
    baselinePolicyPeers: watchOptional(baselineAdminNetworkPolicies, (raw) => peersIn(parseBaselineRules(raw))),
    serviceExports: watchOptional(serviceExports, parseServiceExport),
    serviceImports: watchOptional(serviceImports, parseServiceImport),
    globalServices: watch(services, parseGlobalService),
    importedSlices: reflect({
      client,
      resource: endpointSlices,
      labelSelector: `${sliceLabel.managedBy}=${slicesOfAgent}`,
      parse: parseImportedSlice,
      signal,
      log,
    }),
    sharedPools: watchOptional(loadBalancerPools, parseSharedPool),
    sharedAddresses: watchOptional(sharedAddresses, parseSharedAddress),
  };
}

type PolicyPeers = Pick<
  Sources,
  'networkPolicyPeers' | 'clusterPolicyPeers' | 'adminPolicyPeers' | 'baselinePolicyPeers'
>;

/** The peers of all kinds of policies. */
export function policyPeersOf(sources: PolicyPeers): readonly Reflector<readonly RemotePeer[]>[] {
  const { networkPolicyPeers, clusterPolicyPeers, adminPolicyPeers, baselinePolicyPeers } = sources;
  return [networkPolicyPeers, clusterPolicyPeers, adminPolicyPeers, baselinePolicyPeers];
}

const noPeers: readonly RemotePeer[] = [];

/** Most policies name no other cluster, and nothing of them is kept. */
function peersIn(policy: AnyPolicy): readonly RemotePeer[] {
  const peers = remotePeersOf(policy);
  return peers.length === 0 ? noPeers : peers;
}

/**
 * What a database change concerns: this cluster's chassis and routers, or only the holders of ports and the members of
 * groups.
 */
export type Concern = 'local' | 'holders';

/** Most changes are pods coming and going, and this room's own routes. */
export function concernOf({ table, before, after }: Change): Concern | undefined {
  const row = after ?? before;
  if (table === 'Port_Binding') return row?.['type'] === 'chassisredirect' ? 'holders' : undefined;
  if (table === 'HA_Chassis') return after === undefined ? 'holders' : undefined;
  // Groups of other clusters' ports have no references.
  if (table === 'HA_Chassis_Group') return isReferenced(before) || isReferenced(after) ? 'holders' : undefined;
  if (table === 'Chassis') return isRemote(row) ? undefined : 'local';
  if (table === 'Encap') return 'local';
  if (table === 'Logical_Router_Port') return isLink(before) || isLink(after) ? 'local' : undefined;
  if (table === 'Logical_Router') return (before === undefined) === (after === undefined) ? undefined : 'local';
  return undefined;
}

function isLink(row: Change['after']): boolean {
  return row !== undefined && textsOf(row, 'peer').length > 0;
}

function isReferenced(row: Change['after']): boolean {
  return row !== undefined && textsOf(row, 'ref_chassis').length > 0;
}

function isRemote(row: Change['after']): boolean {
  const config = row?.['other_config'];
  return typeof config === 'object' && config !== null && 'is-remote' in config && config['is-remote'] === 'true';
}
