/** What plans of Services read of the node besides Services: its place, its addresses, and the networks of the cluster. */
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../../lib/desired/problem.ts';
import { type Family, familyOf } from '../../lib/net/ip.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { NodeAddresses } from '../host/node-addresses.ts';
import type { InterfaceNetwork } from '../model/address.ts';
import type { Pod } from '../model/pod.ts';
import type { ServiceNode } from '../model/service.ts';
import type { TableElement } from '../model/service-table.ts';
import { nodePortAddresses, planNodeElements } from '../plan/services/node-elements.ts';
import { tunnelEnds, watchTunnelEnds } from '../ovs/local.ts';
import type { Cluster } from '../state/cluster.ts';
import type { ServiceObjects } from '../state/services.ts';
import type { Local } from './open-local.ts';

export interface ServiceInputsOptions {
  readonly local: Pick<Local, 'netlink' | 'kernelEvents' | 'ovs'>;
  readonly cluster: Cluster;
  readonly objects: Pick<ServiceObjects, 'cidrs'>;
  readonly nodeName: string;
  readonly encapIp: string;
  readonly nodePortNetworks: readonly string[];
}

export interface ServiceInputs {
  readonly node: () => ServiceNode;
  readonly nodeElements: () => readonly TableElement[];
  /** Addresses of the node that have NodePorts. */
  readonly nodePortAddresses: () => ReadonlySet<string>;
  /** Families in which the node still has no address to masquerade clients, after the time that the controller has to allocate it. */
  readonly addressProblems: () => readonly Problem[];
  /** Called after each change, and when the time of the controller is over. */
  subscribe(listener: () => void): void;
  close(): void;
}

const zoneLabel = 'topology.kubernetes.io/zone';
/** The controller allocates the address with the first round that sees the node. */
const addressPatienceMs = 30_000;

export async function openServiceInputs(options: ServiceInputsOptions): Promise<ServiceInputs> {
  const { local, cluster, objects, nodeName, encapIp, nodePortNetworks } = options;
  const addresses = new NodeAddresses(local.netlink, encapIp);
  await addresses.refresh();
  const listeners = new Set<() => void>();
  const notify = (): void => listeners.forEach((listener) => listener());
  const serviceAddresses = (): readonly string[] => cluster.node?.serviceAddresses ?? [];
  const masqueraded = (): ReadonlySet<Family> => new Set(serviceAddresses().map(familyOf));
  addresses.subscribe(notify);
  const stops = [
    cluster.objects.nodes.subscribe(notify),
    cluster.objects.subnets.subscribe(notify),
    cluster.objects.pods.subscribe(({ before, after }) => {
      // Most updates of pods are of their status.
      if (!isDeepStrictEqual(networksOf(before), networksOf(after))) notify();
    }),
    watchTunnelEnds(local.ovs, notify),
    objects.cidrs.subscribe(notify),
    local.kernelEvents.subscribe({
      onEvents: (events) => {
        if (events.some(({ type }) => type === RTM.NEWADDR || type === RTM.DELADDR)) void addresses.refresh();
      },
      onLoss: () => void addresses.refresh(),
    }),
  ];
  const openedMs = performance.now();
  const timer = setTimeout(notify, addressPatienceMs + 1000).unref();
  return {
    node: () => ({ node: nodeName, zone: cluster.node?.labels[zoneLabel] ?? '', masqueraded: masqueraded() }),
    nodeElements: () =>
      planNodeElements({
        ownPods: podAddressesOf(cluster),
        podNetworks: podNetworksOf(cluster),
        serviceCidrs: [...objects.cidrs.entries()].flatMap(([, cidrs]) => cidrs),
        internalIps: cluster.node?.internalIps ?? [],
        otherNodes: tunnelEnds(local.ovs),
        addresses: addresses.all,
        nodePortNetworks,
        ownAddresses: networkOf(cluster)?.addresses.map(({ ip }) => ip) ?? [],
        serviceAddresses: serviceAddresses(),
      }),
    nodePortAddresses: () => {
      const input = { addresses: addresses.all, nodePortNetworks };
      return new Set([...nodePortAddresses(input, 4), ...nodePortAddresses(input, 6)]);
    },
    addressProblems: () =>
      performance.now() - openedMs < addressPatienceMs
        ? []
        : missingFamilies(cluster, masqueraded()).map((family) => addressProblem(nodeName, family)),
    subscribe: (listener) => void listeners.add(listener),
    close: () => {
      for (const stop of stops) stop();
      clearTimeout(timer);
    },
  };
}

function networkOf({ node }: Cluster) {
  return typeof node?.network === 'string' ? undefined : node?.network;
}

/** The networks of pods, as in the rules of the node's own table. */
function podNetworksOf(cluster: Cluster): readonly string[] {
  const routed = cluster.subnets.filter(({ isRouted }) => isRouted);
  return [...(networkOf(cluster)?.networks ?? []), ...routed.flatMap(({ networks }) => networks)];
}

/** Addresses of the pods on this node that have them in the default VPC. */
function podAddressesOf(cluster: Cluster): readonly string[] {
  const networks = [...cluster.objects.pods.entries()].flatMap(([, pod]) => networksOf(pod));
  return networks.flatMap(({ subnet, addresses }) =>
    cluster.subnet(subnet)?.isRouted === true ? addresses.map(({ ip }) => ip) : [],
  );
}

function networksOf(pod: Pod | undefined): readonly InterfaceNetwork[] {
  const networks = [...(pod?.interfaces.values() ?? [])].map(({ network }) => network);
  return networks.filter((network) => typeof network === 'object');
}

/** Families in which the node has an address on ovn0, but none to masquerade clients of Services. */
function missingFamilies(cluster: Cluster, masqueraded: ReadonlySet<Family>): readonly Family[] {
  const own = networkOf(cluster)?.addresses.map(({ ip }) => familyOf(ip)) ?? [];
  return own.filter((family) => !masqueraded.has(family));
}

function addressProblem(node: string, family: Family): Problem {
  const message = `Node ${node} has no IPv${family} address in annotation isthmus.network/service-address, so Services with externalTrafficPolicy Cluster refuse clients from outside of the cluster; the controller allocates it from Subnet join: check its log and the free addresses of the subnet`;
  return { code: 'ServiceAddressMissing', message };
}
