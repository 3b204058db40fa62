/** Opens the CNI server: attachments of pods, their repair after an interface was deleted, and the socket of the shim. */
import { providerBridge } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Local } from '../apply/open-local.ts';
import type { OpenedPodPorts } from '../apply/open-pod-ports.ts';
import { resolveNeighbour } from '../host/neighbours.ts';
import { PodLinks } from '../host/pod-links.ts';
import { VlanNeighbours } from '../host/vlan-neighbours.ts';
import { watchGoneLinks } from '../host/watch-host.ts';
import type { Pod } from '../model/pod.ts';
import type { NetworkReport } from '../model/provider-network.ts';
import { probeMacPrefix } from '../plan/underlay/probe-mac.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import { Attachments } from './attachments.ts';
import { cniCommands, type CommandsOptions } from './commands.ts';
import { LostInterfaces } from './lost-interfaces.ts';
import { openCniServer } from './server.ts';
import { UnderlayPods } from './underlay.ts';

export interface OpenCniOptions extends Pick<CommandsOptions, 'findUnavailable' | 'onOutcome' | 'stopping'> {
  readonly local: Local;
  readonly cluster: Cluster;
  readonly sandboxes: Sandboxes;
  readonly pods: OpenedPodPorts;
  /** The provider networks of this node. */
  readonly underlay: {
    stateOf(network: string): NetworkReport | string | undefined;
    subscribe(listener: () => void): () => void;
  };
  readonly settings: {
    readonly socket: string;
    readonly ovsRundir: string;
    readonly datapathType: 'system' | 'netdev';
    readonly nodeMtu: number;
    /** Uid of the Node: probes in VLANs have a source address of their own for each node. */
    readonly nodeUid: string;
  };
  readonly onPodProblem: (pod: Pod, problem: Problem) => void;
  readonly log: Logger;
}

export interface Cni {
  /** Stops accepting requests; resolves when the requests under way are answered. */
  closeServer(): Promise<void>;
  close(): void;
}

export async function openCni(options: OpenCniOptions): Promise<Cni> {
  const { local, cluster, sandboxes, pods, settings, onPodProblem, log } = options;
  const links = new PodLinks(local.netlink);
  const attachments = new Attachments({
    pods: cluster.objects.pods,
    untilGuarded: (sandbox, deadline) => pods.guards.untilGuarded(sandbox, deadline),
    pendingPorts: local.pendingPorts,
    subnetOf: (name) => cluster.subnet(name),
    links,
    underlay: openUnderlayPods(options),
    ports: pods.ports,
    sandboxes,
    optionsOf: (sandbox) => pods.annotations.optionsOf(sandbox),
    nodeMtu: settings.nodeMtu,
    isUserspaceDatapath: settings.datapathType === 'netdev',
    controllerSockets: settings.ovsRundir,
  });
  const lostInterfaces = new LostInterfaces({
    attachments,
    links,
    sandboxes,
    ports: pods.ports,
    report: (sandbox, problem) => {
      const pod = cluster.podOf(sandbox);
      if (pod !== undefined) onPodProblem(pod, problem);
    },
  });
  await attachments.removeOrphans();
  const server = await openCniServer({
    socketPath: settings.socket,
    answer: cniCommands({ ...options, attachments, now: () => performance.now() }),
    onMalformed: (error) => log.warn({ err: error }, 'a client of the CNI socket does not speak its protocol'),
  });
  const unwatch = watchGoneLinks(local.kernelEvents, (name) => lostInterfaces.gone(name));
  await lostInterfaces.look();
  return {
    closeServer: () => server.close(),
    close() {
      lostInterfaces.close();
      unwatch();
    },
  };
}

function openUnderlayPods({ local, cluster, underlay, settings }: OpenCniOptions): UnderlayPods {
  const vlanNeighbours = new VlanNeighbours(probeMacPrefix(settings.nodeUid));
  return new UnderlayPods({
    stateOf: (network) => underlay.stateOf(network),
    subscribe: (check) => {
      const stops = [underlay.subscribe(check), cluster.objects.providerNetworks.subscribe(check)];
      return () => stops.forEach((stop) => stop());
    },
    ovs: local.ovs,
    resolveNeighbour: async ({ provider, vlan }, address, timeout) => {
      const { index } = (await local.netlink.findLink(providerBridge(provider))) ?? {};
      if (index === undefined) return undefined;
      // The node itself sends untagged requests.
      if (vlan === 0) return resolveNeighbour(index, address, timeout);
      return vlanNeighbours.resolve({ index, vlan, address }, timeout);
    },
  });
}
