/** Opens the node's own network: the plans of its rows and of the host network, and the kernel that they go to. */
import { isDeepStrictEqual } from 'node:util';
import { nodeInterface } from '../../lib/api/names.ts';
import { HostLoop } from '../host/loop.ts';
import { KernelHost } from '../host/network.ts';
import { NodeAddresses } from '../host/node-addresses.ts';
import { watchHost } from '../host/watch-host.ts';
import { watchRuleset } from '../host/watch-ruleset.ts';
import type { HostNetwork } from '../model/host-network.ts';
import type { TunnelAddress } from '../model/provider-network.ts';
import { hasBridge, tunnelEnds, untilTakenUp } from '../ovs/local.ts';
import type { ChassisSettings, Southbound } from '../plan/local-ovs.ts';
import type { Cluster } from '../state/cluster.ts';
import { NodeNetwork } from './node-network.ts';
import type { Local } from './open-local.ts';

export interface OpenNodeNetworkOptions {
  readonly local: Local;
  readonly cluster: Cluster;
  readonly settings: ChassisSettings;
  readonly southbound: () => Southbound;
  readonly isGateway: () => boolean;
  readonly isSwitchUp: () => boolean;
}

export interface OpenedNodeNetwork {
  readonly network: NodeNetwork;
  readonly host: HostLoop<HostNetwork>;
  readonly addresses: NodeAddresses;
  readonly tunnel: () => TunnelAddress;
  /** From now on, changes of the objects in the plans lead to new plans. */
  follow(): void;
}

export async function openNodeNetwork(options: OpenNodeNetworkOptions): Promise<OpenedNodeNetwork> {
  const { local, cluster, settings, southbound, isGateway, isSwitchUp } = options;
  const { netlink, kernelEvents, ovs, target } = local;
  const kernel = new KernelHost(netlink);
  const addresses = new NodeAddresses(netlink, settings.encapIp);
  const host = new HostLoop({
    host: kernel,
    watch: (onChange) => {
      const stops = [
        watchHost(kernelEvents, {
          names: [nodeInterface, settings.mirrorInterface].filter((name) => name !== ''),
          used: () => kernel.used,
          concerns: (route) => kernel.concerns(route),
          onChange,
          onAddress: () => void addresses.refresh(),
        }),
        watchRuleset('inet', onChange),
      ];
      return () => stops.forEach((stop) => stop());
    },
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
    otherNodes: () => tunnelEnds(ovs),
    isSwitchUp,
  });
  return {
    network,
    host,
    addresses,
    tunnel: () => ({
      datapathType: settings.datapathType,
      holder: addresses.encapLink,
      isOnBridge: hasBridge(ovs, addresses.encapLink),
      hasTunnels: () => tunnelEnds(ovs).length > 0,
    }),
    follow() {
      const { nodes, subnets, interconnects, gateways, transitSwitches, remotes, bgpStates } = cluster.objects;
      for (const store of [nodes, subnets, interconnects, gateways, transitSwitches])
        store.subscribe(() => network.changed());
      // Most changes of these statuses do not concern the forwarded prefixes: figures of paths, and what a speaker learned.
      remotes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || network.changed());
      bgpStates.subscribe(({ before, after }) => (before && after) || network.changed());
    },
  };
}
