/** Opens the routes that this node learned from routers: their plan, and the kernel that they go to. */
import { isDeepStrictEqual } from 'node:util';
import { KernelLearnedRoutes } from '../host/learned-routes.ts';
import { HostLoop } from '../host/loop.ts';
import { ConnectedNetworks } from '../host/connected-networks.ts';
import { watchHost } from '../host/watch-host.ts';
import { tunnelEnds } from '../ovs/local.ts';
import { hopKey } from '../settle/withheld-routes.ts';
import type { Cluster } from '../state/cluster.ts';
import type { ApiLifeline } from './api-lifeline.ts';
import { LearnedRoutes } from './learned-routes.ts';
import type { Local } from './open-local.ts';

export interface OpenLearnedRoutesOptions {
  readonly local: Local;
  readonly cluster: Cluster;
  /** Addresses of the node's interfaces. */
  readonly addresses: () => readonly string[];
  readonly apiServers: { readonly all: readonly string[]; subscribe(listener: () => void): void };
  readonly apiLifeline: Pick<ApiLifeline, 'withheld' | 'learned' | 'subscribe'>;
}

export interface OpenedLearnedRoutes {
  readonly routes: LearnedRoutes;
  /** Number of routes in the kernel. */
  readonly count: number;
  /** Called after each application to the kernel. */
  onResult(listener: () => void): void;
  /** From now on, changes of the objects in the plan lead to a new plan. */
  follow(): void;
  close(): void;
}

export async function openLearnedRoutes(options: OpenLearnedRoutesOptions): Promise<OpenedLearnedRoutes> {
  const { local, cluster, addresses, apiServers, apiLifeline } = options;
  const { netlink, kernelEvents, ovs } = local;
  const kernel = new KernelLearnedRoutes(netlink);
  const connected = new ConnectedNetworks(netlink);
  await connected.refresh();
  const loop = new HostLoop({
    host: kernel,
    watch: (onChange) =>
      watchHost(kernelEvents, {
        names: () => [],
        used: () => kernel.used,
        isWaiting: () => kernel.isWaiting,
        onChange,
        onAddress: () => undefined,
      }),
  });
  const routes = new LearnedRoutes({
    host: loop,
    input: () => ({
      learned: cluster.bgpNodeState,
      node: cluster.node,
      subnets: cluster.subnets,
      addresses: addresses(),
      withheld: apiLifeline.withheld,
      lifelines: {
        ...cluster.lifelines,
        ...connected.now,
        tunnelEnds: tunnelEnds(ovs),
        apiServers: apiServers.all,
      },
    }),
  });
  const changed = (): void => routes.changed();
  const unfollowNetwork = connected.follow(kernelEvents, changed);
  apiServers.subscribe(changed);
  apiLifeline.subscribe(changed);
  const noteLearned = (): void =>
    apiLifeline.learned(new Set(cluster.bgpNodeState?.entries.map(({ prefix, nextHop }) => hopKey(prefix, nextHop))));
  noteLearned();
  cluster.objects.bgpStates.subscribe(noteLearned);
  return {
    routes,
    get count() {
      return kernel.count;
    },
    onResult: (listener) => loop.onResult(listener),
    follow() {
      const { nodes, subnets, bgpStates, interconnects, transitSwitches, remotes } = cluster.objects;
      for (const store of [nodes, subnets, bgpStates, interconnects, transitSwitches]) store.subscribe(changed);
      remotes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || changed());
    },
    close() {
      loop.close();
      unfollowNetwork();
    },
  };
}
