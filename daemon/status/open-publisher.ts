/** Opens the publisher of this node: reads the state of all its parts, and publishes it after each change. */
import { nodeInterface } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Chassis } from '../apply/open-chassis.ts';
import type { OpenedLearnedRoutes } from '../apply/open-learned-routes.ts';
import type { OpenedDryRun } from '../apply/open-services-dry-run.ts';
import type { Local } from '../apply/open-local.ts';
import type { OpenedNodeNetwork } from '../apply/open-node-network.ts';
import type { Underlay } from '../apply/underlay.ts';
import type { DownProgram } from '../model/program.ts';
import { isInstalled } from '../ovs/local.ts';
import { planAvailability, type AvailabilityProblem } from '../plan/availability.ts';
import { planNodeStatus, type NodeStatus } from '../plan/node-status.ts';
import { refusedRequests } from '../plan/subnet-problem.ts';
import { findTunnelProblem } from '../plan/tunnel-address.ts';
import { findStranded } from '../plan/underlay/stranded.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import type { ObjectEvents } from './events.ts';
import { Publisher } from './publisher.ts';

/** The parts of the daemon whose state is published. */
export interface NodeParts {
  readonly local: Pick<Local, 'ovs' | 'target'>;
  readonly cluster: Cluster;
  readonly sandboxes: Sandboxes;
  readonly programs: { readonly down: readonly DownProgram[]; subscribe(listener: () => void): void };
  readonly chassis: Chassis;
  readonly nodeNetwork: OpenedNodeNetwork;
  readonly learned: OpenedLearnedRoutes;
  readonly underlay: Underlay;
  /** Tunnel address of the node. */
  readonly encapIp: string;
}

export interface OpenPublisherOptions extends NodeParts {
  readonly nodeName: string;
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly objectEvents: ObjectEvents;
  /** Undefined if there is no dry run of Services. */
  readonly dryRun: Pick<OpenedDryRun, 'report' | 'onReport'> | undefined;
  readonly advertisementProblems: () => readonly Problem[];
  /** Called after each publication that reports the node as ready. */
  readonly onReady: () => void;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Undefined if the Node object is gone. */
function readNodeStatus(parts: NodeParts): NodeStatus | undefined {
  const { cluster, programs, chassis, nodeNetwork, underlay, encapIp, local } = parts;
  const { network, host, tunnel } = nodeNetwork;
  const { node } = cluster;
  if (node === undefined) return undefined;
  return planNodeStatus({
    node,
    hostProblems: host.problems,
    portProblems: network.portProblems,
    isInstalled: isInstalled(local.ovs, nodeInterface),
    accessProblem: chassis.access.problem,
    down: programs.down,
    tunnelProblem: findTunnelProblem({ ...tunnel(), ...underlay.tunnel, encapIp }),
  });
}

/** Why ADD cannot work on this node now; undefined if it can. */
export function findUnavailable(parts: NodeParts): AvailabilityProblem | undefined {
  const hasDatabase = parts.local.ovs.state === 'synced';
  return planAvailability({ status: readNodeStatus(parts), hasDatabase, down: parts.programs.down });
}

/** Publishes the first state at once. */
export function openPublisher({
  nodeName,
  advertisementProblems,
  dryRun,
  ...options
}: OpenPublisherOptions): Publisher {
  const { local, cluster, sandboxes, programs, chassis, nodeNetwork, learned, underlay } = options;
  const { network, host } = nodeNetwork;
  const publisher = new Publisher({
    ...options,
    view: () => ({
      node: cluster.node,
      status: readNodeStatus(options),
      annotations: { chassis: chassis.name(), servicesDryRun: dryRun === undefined ? null : dryRun.report },
      networks: underlay.reports,
      pendingNetworks: underlay.pending,
      accessProblem: chassis.access.problem,
      bgpNodeState: cluster.bgpNodeState,
      bgpProblems: [...learned.routes.problems, ...advertisementProblems()],
      subnetProblems: [...network.subnetProblems, ...refusedRequests(host.problems ?? [], nodeName)],
    }),
    strandedPods: () =>
      findStranded({
        sandboxes: sandboxes.all(),
        podOf: (sandbox) => cluster.podOf(sandbox),
        subnetOf: (name) => cluster.subnet(name),
        stateOf: (provider) => underlay.stateOf(provider),
      }),
    uidOfProviderNetwork: (name) => cluster.objects.providerNetworks.get(name)?.uid,
  });
  const publish = (): void => publisher.publish();
  for (const source of [cluster.objects.nodes, local.ovs, programs, underlay]) source.subscribe(publish);
  for (const source of [host, learned, local.target]) source.onResult(publish);
  dryRun?.onReport(publish);
  chassis.access.subscribe(() => {
    network.changed();
    publish();
  });
  underlay.subscribe(() => publisher.publishStrandedPods());
  publisher.publishStrandedPods();
  publish();
  return publisher;
}
