/** Wires the routes that this node learned from routers: what they are planned from, the kernel they go to, and whom they tell. Called by serve.ts. */
import { isDeepStrictEqual } from 'node:util';
import type { KernelEvents } from '../host/kernel-events.ts';
import type { KernelLearnedRoutes } from '../host/learned-routes.ts';
import { HostLoop } from '../host/loop.ts';
import type { NodeNetworkFacts } from '../host/node-network.ts';
import { watchHost } from '../host/watch-host.ts';
import { hopKey } from '../settle/withheld-routes.ts';
import type { ApiServers } from '../watch/api-servers.ts';
import type { openWatches } from '../watch/watches.ts';
import type { ApiLifeline } from './api-lifeline.ts';
import { LearnedRoutes } from './learned-routes.ts';

export interface OpenLearnedOptions {
  readonly kernel: KernelLearnedRoutes;
  readonly kernelEvents: KernelEvents;
  readonly watches: Awaited<ReturnType<typeof openWatches>>;
  readonly nodeName: string;
  /** Of the node's interfaces. */
  readonly addresses: () => readonly string[];
  readonly nodeNetwork: NodeNetworkFacts;
  readonly tunnelEnds: () => readonly string[];
  readonly apiServers: ApiServers;
  readonly apiLifeline: ApiLifeline;
}

export interface Learned {
  readonly routes: LearnedRoutes;
  readonly loop: { onResult(listener: () => void): void };
  /** From now on changes of the objects that routes are planned from are heard. */
  follow(): void;
  close(): void;
}

export function openLearned(options: OpenLearnedOptions): Learned {
  const { kernel, kernelEvents, nodeName, addresses, nodeNetwork, tunnelEnds, apiServers, apiLifeline } = options;
  const { nodes, subnets, interconnects, transitSwitches, remotes, bgpStates } = options.watches;
  const loop = new HostLoop({
    host: kernel,
    watch: (onChange) =>
      watchHost(kernelEvents, {
        names: [],
        used: () => kernel.used,
        isWaiting: () => kernel.isWaiting,
        onChange,
        onAddress: () => undefined,
      }),
  });
  const routes = new LearnedRoutes({
    host: loop,
    input: () => ({
      learned: bgpStates.get(nodeName),
      node: nodes.get(nodeName),
      subnets: [...subnets.entries()].flatMap(([, subnet]) => subnet ?? []),
      addresses: addresses(),
      withheld: apiLifeline.withheld,
      lifelines: {
        ...nodeNetwork.now,
        tunnelEnds: tunnelEnds(),
        apiServers: apiServers.all,
        hubs: [...interconnects.entries()].map(([, { hub }]) => hub),
        transitSwitches: [...transitSwitches.entries()].map(([name, { vpc, networks }]) => ({
          name,
          vpc,
          prefixes: networks,
        })),
        clusters: [...remotes.entries()].map(([name, prefixes]) => ({ name, prefixes })),
      },
    }),
  });
  const changed = (): void => routes.changed();
  const unfollowNetwork = nodeNetwork.follow(kernelEvents, changed);
  apiServers.subscribe(changed);
  apiLifeline.subscribe(changed);
  const tellWhatIsLearned = (): void =>
    apiLifeline.learned(
      new Set(bgpStates.get(nodeName)?.entries.map(({ prefix, nextHop }) => hopKey(prefix, nextHop))),
    );
  tellWhatIsLearned();
  bgpStates.subscribe(tellWhatIsLearned);
  return {
    routes,
    loop,
    follow() {
      for (const facts of [nodes, subnets, bgpStates, interconnects, transitSwitches]) facts.subscribe(changed);
      remotes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || changed());
    },
    close() {
      loop.close();
      unfollowNetwork();
    },
  };
}
