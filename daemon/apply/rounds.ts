/** Runs the first round of the node's plans, and then a round of those that a change concerns. */
import { watchTunnelEnds } from '../ovs/local.ts';
import type { Cluster } from '../state/cluster.ts';
import type { OpenedLearnedRoutes } from './open-learned-routes.ts';
import type { Local } from './open-local.ts';
import type { OpenedNodeNetwork } from './open-node-network.ts';
import type { Underlay } from './underlay.ts';

export interface RoundsOptions {
  readonly local: Local;
  readonly cluster: Cluster;
  readonly nodeNetwork: OpenedNodeNetwork;
  readonly learned: OpenedLearnedRoutes;
  readonly underlay: Underlay;
  /** MTU of pods, in bytes. */
  readonly mtu: number;
}

/** Resolves when the database has the rows of the first round. */
export async function startRounds({
  local,
  cluster,
  nodeNetwork,
  learned,
  underlay,
  mtu,
}: RoundsOptions): Promise<void> {
  const { network, addresses, tunnel, tunnelNeighbours } = nodeNetwork;
  const underlayChanged = (): void => {
    const { node, providerNetworks: networks } = cluster;
    if (node !== undefined) underlay.changed({ networks, node, tunnel, mtu });
    tunnelNeighbours.resolve();
  };
  const pathsChanged = (): void => {
    network.changed();
    learned.routes.changed();
    underlayChanged();
  };
  addresses.subscribe(pathsChanged);
  network.start();
  learned.routes.refresh();
  local.target.seal();
  await local.target.untilApplied();
  nodeNetwork.follow();
  learned.follow();
  watchTunnelEnds(local.ovs, pathsChanged);
  underlayChanged();
  const { nodes, providerNetworks } = cluster.objects;
  for (const mirror of [nodes, providerNetworks]) mirror.subscribe(underlayChanged);
}
