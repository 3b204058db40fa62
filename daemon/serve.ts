/**
 * The daemon at work: wires the parts in the order data flows.
 *   Node, Subnets, Pods (watch) → plan → local Open vSwitch database and the kernel's network (apply, host)
 *   ProviderNetworks (watch) → plan → interfaces of the node into bridges, and back (apply, host)
 *   BgpNodeState (watch) → plan → routes of the kernel for what routers announce (apply, host)
 *   whether the API server answers (watch) → none of these routes that leads away from it (apply, host)
 *   BgpNodeState (watch) → router advertisements on links whose routers wait for them (host)
 *   ConfigMap of OVN's databases, a certificate → ovn-remote and files for ovn-controller (apply)
 *   RemoteClusters (watch) → plan → with a speaker, routes of the kernel for what it announces of other clusters (apply, host)
 *   Subnets, Pods (watch) → plan → flows in front of ovn-controller's, by which ports of pods drop what they are not to pass (apply, ovs)
 *   ovs-vswitchd and ovn-controller (watch): whether they live
 *   on gateways: tunnels and paths to other clusters (watch) → InterconnectGateway (status)
 *   CNI requests of the shim (cni) → veth and port of a pod → ready when ovn-controller says so
 *   what both report → the Node's condition, events, metrics (status); once it is ready, the runtime's configuration (cni)
 * Nothing is kept in files: what must survive a restart stands in the OVS database. Who calls: main.ts.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Registry } from 'prom-client';
import { hubSwitch, nodeInterface } from '../lib/api/names.ts';
import { openOvsdbTarget } from '../lib/desired/ovsdb-target.ts';
import { openKube } from '../lib/kube/client.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import { IdleMemory } from '../lib/run/idle-memory.ts';
import { connectionLog } from '../lib/run/connection-log.ts';
import type { Logger } from '../lib/run/logger.ts';
import { ApiLifeline } from './apply/api-lifeline.ts';
import { ChassisAccess } from './apply/chassis-access.ts';
import { LostInterfaces } from './cni/lost-interfaces.ts';
import { NodeNetwork } from './apply/node-network.ts';
import { openLearned } from './apply/open-learned.ts';
import { openUnderlay, openUnderlayPods } from './apply/open-underlay.ts';
import { PodPorts } from './apply/pod-ports.ts';
import { PortGuards } from './apply/port-guards.ts';
import { TunnelNeighbours } from './apply/tunnel-neighbours.ts';
import { Attachments } from './cni/attachments.ts';
import { cniCommands } from './cni/commands.ts';
import { ConflistKeeper } from './cni/conflist.ts';
import { openCniServer } from './cni/server.ts';
import { hasNetns } from './host/netns.ts';
import { KernelEvents } from './host/kernel-events.ts';
import { LearnedDetour } from './host/learned-detour.ts';
import { KernelLearnedRoutes } from './host/learned-routes.ts';
import { trimMemory } from './host/libc.ts';
import { HostLoop } from './host/loop.ts';
import { KernelHost } from './host/network.ts';
import { NodeAddresses } from './host/node-addresses.ts';
import { NodeNetworkFacts } from './host/node-network.ts';
import { PodLinks } from './host/pod-links.ts';
import { RouterAdvertisements } from './host/router-advertisements.ts';
import { Rtnetlink } from './host/rtnetlink.ts';
import { watchHost } from './host/watch-host.ts';
import { watchRuleset } from './host/watch-ruleset.ts';
import { keepChassisName } from './ovs/chassis-name.ts';
import { removeLeftMark } from './ovs/left-mark.ts';
import {
  ensureSystemId,
  forgetGateway,
  hasBridge,
  isInstalled,
  openLocalOvs,
  southboundRemotes,
  systemId,
  tunnelEnds,
  untilTakenUp,
} from './ovs/local.ts';
import { PortFlows } from './ovs/port-flows.ts';
import { SandboxPorts } from './apply/sandbox-ports.ts';
import { TransactionPacer } from './ovs/transaction-pacer.ts';
import { isGateway } from './settle/gateway-role.ts';
import { planAvailability } from './plan/availability.ts';
import { planNodeStatus, type NodeStatus } from './plan/node-status.ts';
import { guardOf } from './plan/port-guard.ts';
import { refusedWishes } from './plan/subnet-problem.ts';
import { findTunnelProblem } from './plan/tunnel-address.ts';
import { findStranded } from './plan/underlay/stranded.ts';
import { isAbandoned } from './plan/sandbox.ts';
import { bridgeSocket, controlFolders, encapAddress, podMtu, type Settings } from './settings.ts';
import type { Pod } from './model/pod.ts';
import type { Sandbox } from './model/sandbox.ts';
import { PendingPorts } from './ovs/pending-ports.ts';
import { Sandboxes } from './state/sandboxes.ts';
import type { TunnelAddress } from './model/provider-network.ts';
import { openGatewayMetrics } from './status/gateway-metrics.ts';
import { GatewayReport } from './status/gateway-report.ts';
import { openGauges, openMetrics } from './status/metrics.ts';
import { NodeStatusWriter } from './status/node.ts';
import { ProviderNetworkStatus } from './status/provider-networks.ts';
import { ObjectEvents } from './status/events.ts';
import { report } from './status/cni-outcomes.ts';
import { askApi, isApiWell } from './watch/api-server.ts';
import { Departure } from './watch/departure.ts';
import { ApiServers } from './watch/api-servers.ts';
import { untilRegistered } from './watch/node.ts';
import { ProgramWatch } from './watch/programs.ts';
import { openWatches } from './watch/watches.ts';

/** For the API server to answer over a new connection. */
const apiPatienceMs = 6500;

export interface ServeOptions {
  readonly settings: Settings;
  readonly registry: Registry;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Given once, when there is something to ask. */
  readonly answerReady: (isReady: () => boolean) => void;
  /** Called when the node is to be given back; aborts `signal`. */
  readonly leave: () => void;
}

/** Resolves when all of it is closed, after `signal`. */
export async function serve({ settings, registry, signal, log, answerReady, leave }: ServeOptions): Promise<void> {
  const sandboxes = new Sandboxes();
  const metrics = openMetrics(registry);

  // What was moved to bridges comes first: the way to the API server may lie on it.
  const netlink = new Rtnetlink();
  const kernelEvents = new KernelEvents();
  const onState = connectionLog({ log, signal, database: 'Open_vSwitch', remotes: [settings.ovs] });
  const ovs = await openLocalOvs(settings.ovs, signal, onState);
  const pendingPorts = new PendingPorts();
  const target = openOvsdbTarget({
    client: ovs,
    room: 'daemon',
    logger: log,
    // A pod waits for each transaction; bursts on one node are small.
    batchDelayMs: 1,
    reader: new TransactionPacer(ovs, pendingPorts),
    onTransaction: (done) => metrics.onTransaction(done),
  });
  const underlay = await openUnderlay({ client: ovs, target, netlink, kernelEvents, settings, log });

  // watch
  const kube = openKube({ kubeconfig: settings.kubeconfig, userAgent: 'isthmus-daemon' });
  // What an earlier run learned from routers may be why nothing can be watched.
  const apiServers = new ApiServers({ kubeconfig: settings.kubeconfig, signal, log });
  const apiLifeline = new ApiLifeline({
    detour: new LearnedDetour(netlink),
    servers: apiServers,
    isWell: () => isApiWell(kube),
    isReached: () => askApi(settings, AbortSignal.timeout(apiPatienceMs)),
    log,
    nowMs: () => performance.now(),
  });
  const guarding = apiLifeline.run(signal);
  const watches = await openWatches({ client: kube, node: settings.node, signal, log });
  const { nodes, pods, subnets, interconnects, gateways, transitSwitches, remotes, bgpStates, providerNetworks } =
    watches;
  apiServers.follow(watches.apiServers);
  const self = await untilRegistered(nodes, settings.node, signal);
  const departure = new Departure({ client: kube, pod: settings.pod, leave, log });
  if (await departure.isAsked(self)) {
    await guarding;
    await underlay.close();
    kernelEvents.close();
    target.close();
    await Promise.all([ovs.close(), kube.close()]);
    return;
  }
  removeLeftMark(settings);
  nodes.subscribe(({ after }) => after !== undefined && after.name === settings.node && void departure.isAsked(after));
  const programs = new ProgramWatch({ folders: controlFolders(settings), reason: self.unavailable?.reason, log });

  // targets
  const encapIp = encapAddress(settings, self);
  const mtu = podMtu(settings, encapIp, await netlink.addressedLinks());
  // The name that OVN knows the node by already, also where the database is a new one.
  const chassis = await ensureSystemId(ovs, () => self.chassis ?? randomUUID());
  const unkeepName = keepChassisName(ovs, chassis, log);
  const hasRole = (): boolean =>
    isGateway({
      labels: nodes.get(settings.node)?.labels ?? {},
      selectors: [...interconnects.entries()].flatMap(([, facts]) => facts.gateways ?? []),
      hasObject: gateways.get(settings.node) !== undefined,
    });
  if (!hasRole()) await forgetGateway(ovs);
  const access = await ChassisAccess.open({
    client: kube,
    node: settings.node,
    fixed: settings.sb,
    namespace: settings.namespace,
    folder: settings.chassisTls,
    present: southboundRemotes(ovs),
    chassis: () => systemId(ovs) ?? chassis,
    signal,
    log,
  });
  const kernel = new KernelHost(netlink);
  const addresses = new NodeAddresses(netlink, encapIp);
  const nodeNetwork = new NodeNetworkFacts(netlink);
  const host = new HostLoop({
    host: kernel,
    watch: (onChange) => {
      const stops = [
        watchHost(kernelEvents, {
          names: [nodeInterface, settings.mirrorInterface].filter((name) => name !== ''),
          used: () => kernel.used,
          concerns: (route) => kernel.concerns(route),
          onChange,
          onAddress: () => void addresses.refresh().then((isChanged) => isChanged && waysChanged()),
        }),
        watchRuleset('inet', onChange),
      ];
      return () => stops.forEach((stop) => stop());
    },
  });
  const learnedKernel = new KernelLearnedRoutes(netlink);
  openGauges(registry, {
    sandboxes,
    programs: () => programs.known,
    learnedRoutes: () => learnedKernel.count,
    withheldRoutes: () => apiLifeline.withheld.size,
  });
  await Promise.all([addresses.refresh(), nodeNetwork.refresh()]);

  // the node's own network, and the sandboxes of an earlier run
  const allSubnets = () => [...subnets.entries()].flatMap(([, subnet]) => subnet ?? []);
  const { encapType, datapathType, mirrorInterface, mirrorAll: isMirroringAll } = settings;
  const mirror = { mirrorInterface, isMirroringAll };
  const network = new NodeNetwork({
    settings: { nodeName: settings.node, encapType, encapIp, datapathType, mtu, ...mirror },
    southbound: () => access.way,
    target,
    host,
    untilTakenUp: (deadline) => untilTakenUp(ovs, deadline),
    node: () => nodes.get(settings.node),
    subnets: allSubnets,
    isGateway: hasRole,
    forwarding: () => ({
      isSpeaker: bgpStates.get(settings.node) !== undefined,
      vpcs: new Map([
        ...[...transitSwitches.entries()].map(([name, { vpc }]) => [name, vpc] as const),
        ...[...interconnects.entries()].map(([, { vpc }]) => [hubSwitch, vpc] as const),
      ]),
      remotes: [...remotes.entries()].flatMap(([, routes]) => routes),
    }),
    addresses: () => addresses.all,
    otherNodes: () => tunnelEnds(ovs),
    isSwitchUp: () => programs.down.every(({ program }) => program !== 'ovs-vswitchd'),
  });
  const learned = openLearned({
    kernel: learnedKernel,
    kernelEvents,
    watches,
    nodeName: settings.node,
    addresses: () => addresses.all,
    nodeNetwork,
    tunnelEnds: () => tunnelEnds(ovs),
    apiServers,
    apiLifeline,
  });
  const tunnel = (): TunnelAddress => ({
    datapathType,
    holder: addresses.encapLink,
    isOnBridge: hasBridge(ovs, addresses.encapLink),
    hasTunnels: () => tunnelEnds(ovs).length > 0,
  });
  const tunnelNeighbours = new TunnelNeighbours({
    bridge: () => (tunnel().isOnBridge && datapathType === 'netdev' ? addresses.encap : undefined),
    ends: () => tunnelEnds(ovs),
    addresses: () => netlink.addresses(),
    folder: controlFolders(settings).get('ovs-vswitchd'),
    log,
  });
  const underlayChanged = (): void => {
    const node = nodes.get(settings.node);
    const networks = [...providerNetworks.entries()].map(([, one]) => one);
    if (node !== undefined) underlay.changed({ networks, node, tunnel });
    tunnelNeighbours.greet();
  };
  const waysChanged = (): void => {
    network.changed();
    learned.routes.changed();
    underlayChanged();
  };
  const events = new EventRecorder({
    client: kube,
    component: 'isthmus-daemon',
    instance: settings.node,
    isApart: true,
    signal,
    log,
  });
  const objectEvents = new ObjectEvents({ events, log, uidOfSubnet: (name) => subnets.get(name)?.uid });
  const ports = new SandboxPorts(ovs, target);
  const podPorts = new PodPorts({
    pods,
    sandboxes,
    ports,
    hasMirror: mirrorInterface !== '',
    hasNetem: (name) => netlink.hasQdisc(name, 'netem'),
    onProblem: (pod, problem) => objectEvents.tellPod(pod, problem),
  });
  // Another pod may have the name by now.
  const podOf = ({ podNamespace, podName, podUid }: Sandbox): Pod | undefined => {
    const pod = pods.get(`${podNamespace}/${podName}`);
    return pod?.uid === podUid ? pod : undefined;
  };
  for (const { sandbox, isAside } of ports.recorded()) {
    const hasPod = podOf(sandbox) !== undefined;
    if (isAbandoned({ hasNetns: hasNetns(sandbox.netns), hasPod })) continue;
    sandboxes.add(sandbox);
    ports.resume(sandbox, isAside, podPorts.wishesOf(sandbox));
  }
  const flows = new PortFlows({ path: bridgeSocket(settings), log });
  const guards = new PortGuards({
    ovs,
    sandboxes,
    flows,
    guardOf: (sandbox) => guardOf({ sandbox, pod: podOf(sandbox), subnets: allSubnets() }),
  });
  pods.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || guards.refresh());
  // A Subnet's status changes with each of its pods.
  subnets.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || guards.refresh());
  network.refresh();
  learned.routes.refresh();
  target.seal();
  await Promise.all([target.untilApplied(), programs.asked]);
  let knownEnds = '';
  ovs.subscribe(() => {
    const ends = tunnelEnds(ovs).join();
    if (ends !== knownEnds) waysChanged();
    knownEnds = ends;
  });
  for (const facts of [nodes, subnets, interconnects, gateways, transitSwitches])
    facts.subscribe(() => network.changed());
  // Most changes of their statuses are none of what is forwarded: figures of paths, and what was learned.
  remotes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || network.changed());
  bgpStates.subscribe(({ before, after }) => (before && after) || network.changed());
  learned.follow();

  const nodeStatus = (): NodeStatus | undefined => {
    const node = nodes.get(settings.node);
    const facts = {
      hostProblems: host.problems,
      portProblems: network.portProblems,
      isInstalled: isInstalled(ovs, nodeInterface),
      accessProblem: access.problem,
      down: programs.down,
      tunnelProblem: findTunnelProblem({ ...tunnel(), ...underlay.tunnel, encapIp }),
    };
    return node === undefined ? undefined : planNodeStatus({ node, ...facts });
  };
  underlayChanged();
  for (const facts of [nodes, providerNetworks]) facts.subscribe(underlayChanged);

  // CNI
  const links = new PodLinks(netlink);
  const attachments = new Attachments({
    pods,
    untilGuarded: (sandbox, deadline) => guards.untilGuarded(sandbox, deadline),
    pendingPorts,
    subnetOf: (name) => subnets.get(name),
    links,
    underlay: openUnderlayPods({ underlay, providerNetworks, ovs, netlink, probeOwner: self.uid }),
    ports,
    sandboxes,
    wishesOf: (sandbox) => podPorts.wishesOf(sandbox),
    nodeMtu: mtu,
    isUserspaceDatapath: datapathType === 'netdev',
    controllerSockets: settings.ovsRundir,
  });
  const lostInterfaces = new LostInterfaces({
    attachments,
    links,
    sandboxes,
    ports,
    tell: (sandbox, problem) => {
      const pod = podOf(sandbox);
      if (pod !== undefined) objectEvents.tellPod(pod, problem);
    },
  });
  await attachments.removeStrays();
  const answer = cniCommands({
    attachments,
    findUnavailable: () =>
      planAvailability({ status: nodeStatus(), hasDatabase: ovs.state === 'synced', down: programs.down }),
    onOutcome: (outcome) => report(outcome, metrics, log),
    now: () => performance.now(),
    stopping: signal,
  });
  const server = await openCniServer({
    socketPath: settings.socket,
    answer,
    onMalformed: (error) => log.warn({ err: error }, 'a client of the CNI socket does not speak its protocol'),
  });

  const conflist =
    settings.cniConflist === undefined
      ? undefined
      : new ConflistKeeper({
          source: settings.cniConflist,
          folder: settings.cniConfDir,
          onProblem: (problem) => objectEvents.tellNode(nodes.get(settings.node) ?? self, problem),
          log,
        });

  // status
  const writer = new ObjectWriter({ signal, log });
  const status = new NodeStatusWriter({ client: kube, writer, events, log, now: () => new Date() });
  const networkStatus = new ProviderNetworkStatus({
    client: kube,
    writer,
    events,
    uidOf: (name) => providerNetworks.get(name)?.uid,
  });
  const tell = (): void => {
    const [node, wanted] = [nodes.get(settings.node), nodeStatus()];
    if (node !== undefined && wanted !== undefined) status.tell(node, systemId(ovs) ?? chassis, wanted);
    // With it the runtime takes the node for ready, so it comes last.
    if (wanted?.isReady === true) conflist?.keep();
    if (node !== undefined) networkStatus.tell(node, underlay.reports, underlay.pending);
    if (node !== undefined) objectEvents.tellAccess(node, access.problem);
    objectEvents.tellLearned(bgpStates.get(settings.node), [...learned.routes.problems, ...advertisements.problems]);
    objectEvents.tellSubnets([...network.subnetProblems, ...refusedWishes(host.problems ?? [], settings.node)]);
  };
  // routers that wait to hear of this node, and interfaces of pods that somebody deletes
  const advertisements = new RouterAdvertisements(netlink, () => tell());
  const unwatchLinks = watchHost(kernelEvents, {
    names: [],
    used: () => advertisements.links,
    onChange: () => advertisements.linkChanged(),
    onAddress: () => undefined,
    onGone: (name) => lostInterfaces.gone(name),
  });
  await lostInterfaces.look();
  const advertise = (): void => advertisements.set(bgpStates.get(settings.node)?.interfaces ?? []);
  advertise();
  bgpStates.subscribe(advertise);

  nodes.subscribe(tell);
  host.onResult(tell);
  learned.loop.onResult(tell);
  target.onResult(tell);
  ovs.subscribe(tell);
  programs.subscribe(tell);
  access.subscribe(() => {
    network.changed();
    tell();
  });
  underlay.subscribe(tell);
  const tellStranded = (): void => {
    const stranded = findStranded({
      sandboxes: sandboxes.all(),
      podOf,
      subnetOf: (name) => subnets.get(name),
      stateOf: (provider) => underlay.stateOf(provider),
    });
    objectEvents.tellPods(stranded);
  };
  underlay.subscribe(tellStranded);
  tellStranded();
  tell();

  // tunnels and paths to other clusters
  const gateway = new GatewayReport({
    client: kube,
    ovs,
    programs,
    gateways,
    node: settings.node,
    source: encapIp,
    signal,
    log,
  });
  const memory = new IdleMemory({ trim: trimMemory });
  for (const source of [pods, nodes, subnets, ovs]) source.subscribe(() => memory.worked());
  openGatewayMetrics(registry, () => gateway.figures);
  answerReady(() => status.isReady);
  if (!signal.aborted) await once(signal, 'abort');
  await guarding;
  await server.close();
  conflist?.close();
  await underlay.close();
  const parts = [podPorts, guards, flows, lostInterfaces, memory, programs, host, learned, tunnelNeighbours];
  for (const part of parts) part.close();
  unwatchLinks();
  kernelEvents.close();
  advertisements.close();
  unkeepName();
  target.close();
  await Promise.all([writer.close(), access.close(), gateway.close(), events.close(), ovs.close(), kube.close()]);
}
