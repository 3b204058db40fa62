/** The kinds that the daemon watches, each with its parser. */
import { reflect } from '../../lib/kube/reflector.ts';
import * as resources from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { apiService, dnsService } from '../../lib/services/gate.ts';
import { parseService } from '../../lib/services/parse.ts';
import { reflectSliced } from '../../lib/slices/reflect.ts';
import { bgpNodeStateView } from './bgp-node-state.ts';
import { parseApiServers } from './api-server.ts';
import { parseGateway, parseInterconnect, parseTransitSwitch } from './gateway.ts';
import { parseKeySlice } from './key-slice.ts';
import { parseNode } from './node.ts';
import { parsePod } from './pod.ts';
import { parseProviderNetwork } from './provider-network.ts';
import { remoteClusterView } from './remote-cluster.ts';
import { parseSubnet } from './subnet.ts';
import { parseVpcDns } from './vpc-dns.ts';

export interface WatchOptions {
  readonly client: KubeClient;
  /** Name of the node of this daemon. */
  readonly node: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Starts all watches; resolves once all existing objects were delivered. @throws the signal's reason */
export async function openWatches({ node, ...common }: WatchOptions) {
  const own = { ...common, fieldSelector: `metadata.name=${node}` };
  // A cluster without interconnect, BGP or underlay need not serve these kinds.
  const optional = true;
  const service = ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
    reflect({
      ...common,
      resource: resources.services,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      parse: parseService,
    });
  const watches = {
    nodes: reflect({ ...own, resource: resources.nodes, parse: parseNode }),
    pods: reflect({ ...common, fieldSelector: `spec.nodeName=${node}`, resource: resources.pods, parse: parsePod }),
    subnets: reflect({ ...common, resource: resources.subnets, parse: parseSubnet }),
    interconnects: reflect({ ...common, resource: resources.interconnects, parse: parseInterconnect, optional }),
    gateways: reflect({ ...own, resource: resources.interconnectGateways, parse: parseGateway, optional }),
    keySlices: reflect({ ...common, resource: resources.gatewayKeySlices, parse: parseKeySlice, optional }),
    transitSwitches: reflect({ ...common, resource: resources.transitSwitches, parse: parseTransitSwitch, optional }),
    remotes: reflectSliced(remoteClusterView, { ...common, optional }),
    providerNetworks: reflect({
      ...common,
      resource: resources.providerNetworks,
      parse: parseProviderNetwork,
      optional,
    }),
    apiServers: reflect({
      ...common,
      resource: resources.endpointSlices,
      namespace: 'default',
      labelSelector: 'kubernetes.io/service-name=kubernetes',
      parse: parseApiServers,
    }),
    vpcDnses: reflect({ ...common, resource: resources.vpcDnses, parse: parseVpcDns, optional }),
    dnsServices: service(dnsService),
    apiServices: service(apiService),
    bgpStates: reflectSliced(bgpNodeStateView, { ...common, owner: node, optional }),
  };
  await Promise.all(Object.values(watches).map(({ synced }) => synced));
  return watches;
}
