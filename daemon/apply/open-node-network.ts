/** Opens the node's own network: the plans of its rows and of the host network, the kernel that they go to, and the neighbours of its tunnels. */
import { isDeepStrictEqual } from 'node:util';
import { nodeInterface, providerBridge } from '../../lib/api/names.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { keepNetwork } from '../host/keep-network.ts';
import type { HostLoop } from '../host/loop.ts';
import { NodeAddresses } from '../host/node-addresses.ts';
import type { HostNetwork } from '../model/host-network.ts';
import type { TunnelAddress } from '../model/provider-network.ts';
import { hasBridge, tunnelEnds, untilTakenUp } from '../ovs/local.ts';
import type { ChassisSettings, Southbound } from '../plan/local-ovs.ts';
import type { Cluster } from '../state/cluster.ts';
import { NodeNetwork } from './node-network.ts';
import type { Local } from './open-local.ts';
import { TunnelNeighbours } from './tunnel-neighbours.ts';
import type { Underlay } from './underlay.ts';

export interface OpenNodeNetworkOptions {
  readonly local: Local;
  readonly cluster: Cluster;
  readonly settings: ChassisSettings;
  readonly southbound: () => Southbound;
  readonly isGateway: () => boolean;
  readonly isSwitchUp: () => boolean;
  readonly hasServices: boolean;
  readonly underlay: Pick<Underlay, 'routed' | 'subscribe'>;
  /** Folder of the control socket of ovs-vswitchd; undefined for a remote one. */
  readonly switchFolder: string | undefined;
  readonly log: Logger;
}

export interface OpenedNodeNetwork {
  readonly network: NodeNetwork;
  readonly host: HostLoop<HostNetwork>;
  readonly addresses: NodeAddresses;
  readonly tunnel: () => TunnelAddress;
  readonly tunnelNeighbours: TunnelNeighbours;
  /** From now on, changes of the objects in the plans lead to new plans. */
  follow(): void;
  close(): void;
}

export async function openNodeNetwork(options: OpenNodeNetworkOptions): Promise<OpenedNodeNetwork> {
  const { local, cluster, settings, southbound, isGateway, isSwitchUp, hasServices, underlay, switchFolder, log } =
    options;
  const { netlink, kernelEvents, ovs, target } = local;
  const addresses = new NodeAddresses(netlink, settings.encapIp);
  const host = keepNetwork({
    netlink,
    kernelEvents,
    names: () =>
      [nodeInterface, settings.mirrorInterface, ...[...underlay.routed].map(providerBridge)].filter(
        (name) => name !== '',
      ),
    onAddress: () => void addresses.refresh(),
  });
  await addresses.refresh();
  const network = new NodeNetwork({
    settings,
    southbound,
    target,
    host,
    untilTakenUp: (deadline) => untilTakenUp(ovs, deadline),
    node: () => cluster.node,
    subnets: () => cluster.subnets,
    isGateway,
    forwarding: () => ({
      isSpeaker: cluster.bgpNodeState !== undefined,
      vpcs: cluster.joinedVpcs,
      remotes: cluster.remoteRoutes,
    }),
    addresses: () => addresses.all,
    hasServices,
    routedNetworks: () => underlay.routed,
    connected: () => addresses.networks,
    otherNodes: () => tunnelEnds(ovs),
    isSwitchUp,
  });
  const { datapathType } = settings;
  const isOnBridge = (): boolean => hasBridge(ovs, addresses.encapLink);
  const tunnelNeighbours = new TunnelNeighbours({
    bridge: () => (isOnBridge() && datapathType === 'netdev' ? addresses.encap : undefined),
    ends: () => tunnelEnds(ovs),
    addresses: () => netlink.addresses(),
    folder: switchFolder,
    log,
  });
  return {
    network,
    host,
    addresses,
    tunnel: () => ({
      datapathType,
      holder: addresses.encapLink,
      isOnBridge: isOnBridge(),
      hasTunnels: () => tunnelEnds(ovs).length > 0,
    }),
    tunnelNeighbours,
    follow() {
      const { nodes, subnets, interconnects, gateways, transitSwitches, remotes, bgpStates } = cluster.objects;
      for (const store of [nodes, interconnects, gateways, transitSwitches]) store.subscribe(() => network.changed());
      // The status of a Subnet changes with each of its pods.
      subnets.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || network.changed());
      // Most changes of these statuses do not concern the forwarded prefixes: figures of paths, and what a speaker learned.
      remotes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || network.changed());
      underlay.subscribe(() => network.changed());
      bgpStates.subscribe(({ before, after }) => (before && after) || network.changed());
    },
    close() {
      host.close();
      tunnelNeighbours.close();
    },
  };
}
