/**
 * isthmus-daemon, one per node. Data flows in this order, and this file wires it in this order:
 *
 *   watch/   Kubernetes objects of this node, the API server, the programs of OVN and Open vSwitch, tunnels and paths, rules of policies
 *   state/   the cluster as this node sees it, and the sandboxes of its pods
 *   settle/  what depends on history: gateway role, liveness of programs and tunnels, withheld routes, provider networks
 *   plan/    pure: wanted rows, host network, routes, flows and statuses
 *   apply/   makes the targets agree: the local Open_vSwitch database (ovs/) and the kernel (host/)
 *   cni/     serves the runtime
 *   status/  Node, InterconnectGateway, events, metrics
 *
 * Nothing is kept in files: what must survive a restart is in the Open_vSwitch database. When the release of this daemon is uninstalled,
 * leave.ts releases the node.
 */
import { once } from 'node:events';
import type { Registry } from 'prom-client';
import { openKube } from '../lib/kube/client.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { parseFlags } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import { IdleMemory } from '../lib/run/idle-memory.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { ApiLifeline } from './apply/api-lifeline.ts';
import { openAdvertisements } from './apply/open-advertisements.ts';
import { openChassis } from './apply/open-chassis.ts';
import { openGates } from './apply/open-gates.ts';
import { GatewayAnnouncements } from './apply/gateway-announcements.ts';
import { openLearnedRoutes } from './apply/open-learned-routes.ts';
import { openLocal } from './apply/open-local.ts';
import { openNodeNetwork } from './apply/open-node-network.ts';
import { newServiceTable, openServices } from './apply/open-services.ts';
import { openServicesDryRun } from './apply/open-services-dry-run.ts';
import { openPodPorts } from './apply/open-pod-ports.ts';
import { openUnderlay } from './apply/open-underlay.ts';
import { openWireGuard } from './apply/open-wireguard.ts';
import { startRounds } from './apply/rounds.ts';
import { ConflistKeeper } from './cni/conflist.ts';
import { openCni } from './cni/open-cni.ts';
import { LearnedDetour } from './host/learned-detour.ts';
import { trimMemory } from './host/libc.ts';
import { leaveNode } from './leave.ts';
import { removeLeftMark } from './ovs/left-mark.ts';
import {
  bridgeSocket,
  controlFolders,
  encapAddress,
  flagSpec,
  gateFolder,
  keyFile,
  podMtu,
  tunnelNamespace,
  type Settings,
} from './settings.ts';
import { isGateway } from './settle/gateway-role.ts';
import { ProgramLiveness } from './settle/program-liveness.ts';
import { TunnelLiveness } from './settle/tunnel-liveness.ts';
import { Cluster } from './state/cluster.ts';
import { Sandboxes } from './state/sandboxes.ts';
import { reportOutcome } from './status/cni-outcomes.ts';
import { ObjectEvents } from './status/events.ts';
import { openGatewayMetrics } from './status/gateway-metrics.ts';
import { openGatewayPortMetrics } from './status/gateway-port-metrics.ts';
import { openWireGuardMetrics } from './status/wireguard-metrics.ts';
import { GatewayReport } from './status/gateway-report.ts';
import { reportDryRun, reportServices } from './status/services.ts';
import { openAskedDomains } from './status/open-asked-domains.ts';
import { openPolicyCounters } from './status/open-policy-counters.ts';
import { openPolicyDrops } from './status/open-policy-drops.ts';
import { openGauges, openMetrics } from './status/metrics.ts';
import { findUnavailable, openPublisher } from './status/open-publisher.ts';
import { askApi, isApiWell } from './watch/api-server.ts';
import { ApiServers } from './watch/api-servers.ts';
import { openAskedSources } from './watch/asked-domains.ts';
import { Departure } from './watch/departure.ts';
import { untilRegistered } from './watch/node.ts';
import { GatewayPorts } from './watch/gateway-ports.ts';
import { Prober } from './watch/probes.ts';
import { ProgramWatch } from './watch/programs.ts';
import { TunnelWatch } from './watch/tunnels.ts';
import { openPolicySources } from './watch/policy-sources.ts';
import { openServiceWatches } from './watch/services.ts';
import { southboundAccess } from './watch/southbound.ts';
import { openWatches } from './watch/watches.ts';

/** Time for the API server to answer over a new connection. */
const apiTimeoutMs = 6500;
/** A pod waits for each transaction, and bursts on one node are small. */
const batchDelayMs = 1;

interface ServeOptions {
  readonly settings: Settings;
  readonly registry: Registry;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Called once the daemon can report whether the node is ready. */
  readonly onServing: (isReady: () => boolean) => void;
  /** Called when the node must be released; aborts `signal`. */
  readonly leave: () => void;
}

/** Serves the node; resolves after `signal`, when everything is closed. */
async function serve({ settings, registry, signal, log, onServing, leave }: ServeOptions): Promise<void> {
  const { node: nodeName, encapType, datapathType, mirrorInterface, mirrorAll: isMirroringAll } = settings;
  const metrics = openMetrics(registry);

  // Targets. Interfaces that an earlier run moved into bridges come first, because the API server may be reached over them.
  const local = await openLocal({
    remote: settings.ovs,
    target: { batchDelayMs, onTransaction: (done) => metrics.onTransaction(done) },
    signal,
    log,
  });
  const { netlink, ovs } = local;
  const underlay = await openUnderlay({ local, settings, askApi: (deadline) => askApi(settings, deadline), log });

  // watch/. Routes that an earlier run learned may be the reason that the API server is not reached, so its lifeline comes first.
  const kube = openKube({ kubeconfig: settings.kubeconfig, userAgent: 'isthmus-daemon' });
  const apiServers = new ApiServers({ kubeconfig: settings.kubeconfig, signal, log });
  const apiLifeline = new ApiLifeline({
    detour: new LearnedDetour(netlink),
    servers: apiServers,
    isWell: () => isApiWell(kube),
    isReached: () => askApi(settings, AbortSignal.timeout(apiTimeoutMs)),
    log,
    nowMs: () => performance.now(),
  });
  const guarding = apiLifeline.run(signal);
  const watches = await openWatches({ client: kube, node: nodeName, signal, log });
  apiServers.follow(watches.apiServers);
  const self = await untilRegistered(watches.nodes, nodeName, signal);
  const departure = new Departure({ client: kube, pod: settings.pod, leave, log });
  if (await departure.isAsked(self)) {
    await guarding;
    await underlay.close();
    await Promise.all([local.close(), kube.close()]);
    return;
  }
  removeLeftMark(settings);

  // state/
  const cluster = new Cluster(nodeName, watches);
  const sandboxes = new Sandboxes();
  watches.nodes.subscribe(() => cluster.node && void departure.isAsked(cluster.node));

  // Services are opened first: other parts reach the API server by its ClusterIP, such as the OVN databases of this node.
  const encapIp = encapAddress(settings, self);
  const folders = controlFolders(settings);
  const serviceOptions = async () => ({
    local,
    cluster,
    objects: await openServiceWatches({ client: kube, signal, log }),
    nodeName,
    encapIp,
    nodePortNetworks: settings.nodeportAddresses,
    hasExternalIps: settings.externalIps === 'Allow',
  });
  const services =
    settings.services === 'on'
      ? await openServices({
          ...(await serviceOptions()),
          healthzPort: settings.servicesHealthzPort,
          switchFolder: folders.get('ovs-vswitchd'),
          log,
        })
      : undefined;
  if (services === undefined) await newServiceTable().remove();
  const dryRun =
    settings.services === 'dry-run'
      ? await openServicesDryRun({ ...(await serviceOptions()), kubeconfig: settings.kubeconfig })
      : undefined;

  // settle/
  const programs = new ProgramLiveness(folders, self.unavailable?.reason);
  const programWatch = new ProgramWatch({
    folders,
    onAnswer: (program, answer) => programs.note(program, answer),
    log,
  });
  const isSwitchDown = (): boolean => programs.isDown('ovs-vswitchd');
  const hasGatewayRole = (): boolean =>
    isGateway({
      labels: cluster.node?.labels ?? {},
      selectors: cluster.gatewaySelectors,
      hasObject: cluster.gateway !== undefined,
    });
  const wireGuard = await openWireGuard({
    local,
    cluster,
    isGateway: hasGatewayRole,
    encapIp,
    isUserspaceDatapath: datapathType === 'netdev',
    keyFile: keyFile(settings),
    namespace: tunnelNamespace(settings),
    socket: settings.wireguardSocket,
    switchFolder: folders.get('ovs-vswitchd'),
    port: settings.wireguardPort,
    log,
  });
  // ovn-controller makes tunnels to other clusters once they cannot leave the node in the clear.
  const isGatewayNode = (): boolean => hasGatewayRole() && wireGuard.isSafe;

  // plan/ → apply/
  const mtu = podMtu(settings, encapIp, await netlink.addressedLinks());
  const chassis = await openChassis({
    ovs,
    known: self.chassis,
    isGateway: isGatewayNode(),
    client: kube,
    node: nodeName,
    fixed: settings.sb,
    namespace: settings.namespace,
    folder: settings.chassisTls,
    signal,
    log,
  });
  const nodeNetwork = await openNodeNetwork({
    local,
    cluster,
    settings: { nodeName, encapType, encapIp, datapathType, mtu, mirrorInterface, isMirroringAll },
    southbound: () => chassis.access.southbound,
    isGateway: isGatewayNode,
    isSwitchUp: () => !isSwitchDown(),
    hasServices: services !== undefined,
    underlay,
    switchFolder: folders.get('ovs-vswitchd'),
    log,
  });
  wireGuard.subscribe(() => nodeNetwork.network.changed());
  const { addresses } = nodeNetwork;
  const learned = await openLearnedRoutes({ local, cluster, addresses: () => addresses.all, apiServers, apiLifeline });
  const gates = openGates({
    local,
    cluster,
    folder: gateFolder(settings),
    mtu,
    isUserspaceDatapath: datapathType === 'netdev',
  });
  const events = new EventRecorder({
    client: kube,
    component: 'isthmus-daemon',
    instance: nodeName,
    isApart: true,
    signal,
    log,
  });
  const objectEvents = new ObjectEvents({ events, log, uidOfSubnet: (name) => cluster.subnet(name)?.uid });
  if (services !== undefined) reportServices(services, objectEvents, cluster);
  if (dryRun !== undefined) reportDryRun(dryRun, objectEvents, cluster);
  gates.onResult(() => cluster.node && objectEvents.reportGates(cluster.node, gates.problems));
  const askedSources = await openAskedSources({ client: kube, node: nodeName, signal, log });
  const asked = openAskedDomains({
    client: kube,
    // The Node may be deleted and registered again: an object of the former one would be deleted again and again.
    node: {
      name: nodeName,
      get uid() {
        return (cluster.node ?? self).uid;
      },
    },
    sources: askedSources,
    local,
    cluster,
    sandboxes,
    bridgeSocket: bridgeSocket(settings),
    report: (pod, problem) => objectEvents.reportPod(pod, problem),
    signal,
    log,
  });
  const pods = openPodPorts({
    local,
    cluster,
    sandboxes,
    hasMirror: mirrorInterface !== '',
    bridgeSocket: bridgeSocket(settings),
    onProblem: (pod, problem) => objectEvents.reportPod(pod, problem),
    isObserved: (sandbox) => asked.isObserved(sandbox),
    log,
  });
  asked.onObserved(() => pods.guards.refresh());
  const parts = { local, cluster, sandboxes, programs, chassis, nodeNetwork, learned, underlay, mtu, encapIp };
  await Promise.all([startRounds(parts), programWatch.asked]);

  // cni/
  const cni = await openCni({
    local,
    cluster,
    sandboxes,
    pods,
    underlay,
    settings: { ...settings, nodeMtu: mtu, nodeUid: self.uid },
    findUnavailable: () => findUnavailable(parts),
    onOutcome: (outcome) => reportOutcome(outcome, metrics, log),
    onPodProblem: (pod, problem) => objectEvents.reportPod(pod, problem),
    stopping: signal,
    log,
  });
  const conflist =
    settings.cniConflist === undefined
      ? undefined
      : new ConflistKeeper({
          source: settings.cniConflist,
          folder: settings.cniConfDir,
          onProblem: (problem) => objectEvents.reportNode(cluster.node ?? self, problem),
          log,
        });

  // status/
  const advertisements = openAdvertisements(local, cluster, () => publisher.publish());
  const publisher = openPublisher({
    ...parts,
    nodeName,
    client: kube,
    events,
    objectEvents,
    dryRun,
    advertisementProblems: () => advertisements.problems,
    onReady: () => conflist?.keep(),
    signal,
    log,
  });
  const tunnels = new TunnelWatch({ ovs, liveness: new TunnelLiveness(), isSwitchDown, programs });
  const prober = new Prober({ source: encapIp, now: () => new Date() });
  const { gateways } = watches;
  const gateway = new GatewayReport({
    client: kube,
    tunnels,
    prober,
    programs,
    wireGuard,
    gateways,
    node: nodeName,
    signal,
    log,
  });
  openGauges(registry, {
    sandboxes,
    programs: () => programs.known,
    learnedRoutes: () => learned.count,
    withheldRoutes: () => apiLifeline.withheld.size,
  });
  openGatewayMetrics(registry, () => gateway.figures);
  openWireGuardMetrics(registry, () => wireGuard.figures, Date.now);
  const southbound = southboundAccess(chassis.access, settings.southboundTls ?? settings.chassisTls);
  const gatewayAnnouncements = new GatewayAnnouncements({
    ovs,
    bridgeSocket: bridgeSocket(settings),
    openPorts: (onChange) => new GatewayPorts({ ...southbound, signal, log }, onChange),
    log,
  });
  openGatewayPortMetrics(registry, gatewayAnnouncements);
  const policySources =
    settings.policyCounters || settings.policyDrops !== 'off'
      ? openPolicySources({
          client: kube,
          southbound,
          hasNamespaces: settings.policyDrops === 'labelled',
          signal,
          log,
        })
      : undefined;
  const policyReports = policySources && {
    ...parts,
    sources: policySources,
    bridgeSocket: bridgeSocket(settings),
    registry,
    log,
  };
  const policyCounters = policyReports && settings.policyCounters ? openPolicyCounters(policyReports) : undefined;
  const policyDrops =
    policyReports && settings.policyDrops !== 'off' ? openPolicyDrops({ ...policyReports, objectEvents }) : undefined;
  const memory = new IdleMemory({ trim: trimMemory });
  for (const source of [watches.pods, watches.nodes, watches.subnets, ovs]) source.subscribe(() => memory.worked());
  onServing(() => publisher.isReady);

  if (!signal.aborted) await once(signal, 'abort');
  await guarding;
  await cni.closeServer();
  policyCounters?.close();
  policyDrops?.close();
  conflist?.close();
  await underlay.close();
  for (const part of [
    pods,
    cni,
    memory,
    programWatch,
    nodeNetwork,
    learned,
    gates,
    tunnels,
    prober,
    advertisements,
    wireGuard,
  ])
    part.close();
  await Promise.all([
    asked.close(),
    askedSources.close(),
    services?.close(),
    dryRun?.close(),
    policySources?.close(),
    gatewayAnnouncements.close(),
    publisher.close(),
    chassis.close(),
    gateway.close(),
    events.close(),
    local.close(),
    kube.close(),
  ]);
}

/** The process answers for its health from the start: it is alive while it waits, and ready once the node is. */
async function main(signal: AbortSignal, log: Logger): Promise<void> {
  const settings = parseFlags(flagSpec, process.argv.slice(2), process.env);
  const registry = createRegistry('daemon');
  let isReady = (): boolean => false;
  const health = await serveHealth({ address: settings.metricsAddress, ready: () => isReady(), registry });
  const leaving = new AbortController();
  await serve({
    settings,
    registry,
    signal: AbortSignal.any([signal, leaving.signal]),
    log,
    onServing: (answer) => (isReady = answer),
    leave: () => leaving.abort(new Error('the node is released')),
  });
  isReady = () => false;
  if (leaving.signal.aborted && !signal.aborted) await leaveNode({ settings, signal, log });
  await health.close();
}

runRoom('daemon', main);
