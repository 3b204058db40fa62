/** Everything the agent watches, and which database changes can matter to it. */
import type { Change } from 'ovsdb-client';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { textsOf } from '../../lib/ovn/columns.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import {
  gatewayKeySlices,
  interconnectGateways,
  endpointSlices,
  interconnects,
  namespaces,
  nodes,
  remoteClusters,
  remoteRouteSlices,
  routePolicies,
  serviceExports,
  serviceImports,
  subnets,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
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
  parseSubnet,
  parseTransitSwitch,
} from './objects.ts';
import { parseImportedSlice, parseServiceExport, parseServiceImport } from './service-objects.ts';
import type { KeySliceObject } from '../model/key-slice.ts';
import type { GatewayObject, Interconnect, Node, Report, Subnet, TransitSwitchObject } from '../model/objects.ts';
import {
  sliceLabel,
  slicesOfAgent,
  type ImportedSlice,
  type ServiceExportObject,
  type ServiceImportObject,
} from '../model/service-objects.ts';

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
  readonly namespaces: Reflector<{ readonly isDeleting: boolean }>;
  /** Clusters without the CRDs of the Multi-Cluster Services API do not have these kinds. */
  readonly serviceExports: Reflector<ServiceExportObject>;
  readonly serviceImports: Reflector<ServiceImportObject>;
  /** EndpointSlices of imports, which the agent made. */
  readonly importedSlices: Reflector<ImportedSlice>;
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
    namespaces: watch(namespaces, ({ metadata }) => ({ isDeleting: metadata.deletionTimestamp !== undefined })),
    serviceExports: watchOptional(serviceExports, parseServiceExport),
    serviceImports: watchOptional(serviceImports, parseServiceImport),
    importedSlices: reflect({
      client,
      resource: endpointSlices,
      labelSelector: `${sliceLabel.managedBy}=${slicesOfAgent}`,
      parse: parseImportedSlice,
      signal,
      log,
    }),
  };
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
