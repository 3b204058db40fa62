/** Opens the part of the daemon that serves Services: state, the nftables table, health checks, and their problems. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Family } from '../../lib/net/ip.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { callAll } from '../../lib/ovn/unixctl.ts';
import { findKubeProxy } from '../host/kube-proxy.ts';
import { NodeAddresses } from '../host/node-addresses.ts';
import { OwnPorts } from '../host/own-ports.ts';
import { ServiceTable, serviceTableName } from '../host/service-table.ts';
import { UdpFlows } from '../host/udp-flows.ts';
import { watchRuleset } from '../host/watch-ruleset.ts';
import { nodePortAddresses, planNodeElements } from '../plan/services/node-elements.ts';
import { planSkeleton, renderNamedChain } from '../plan/services/skeleton.ts';
import type { Cluster } from '../state/cluster.ts';
import { type ServiceObjects, Services } from '../state/services.ts';
import { HealthChecks } from './health-checks.ts';
import type { Local } from './open-local.ts';
import { NodeServices, type ServiceProblem } from './services.ts';
import { StaleConnections } from './stale-connections.ts';
import { SwitchConnections } from './switch-connections.ts';

export interface OpenServicesOptions {
  readonly local: Pick<Local, 'netlink' | 'kernelEvents'>;
  readonly cluster: Cluster;
  readonly objects: ServiceObjects;
  readonly nodeName: string;
  readonly encapIp: string;
  readonly nodePortNetworks: readonly string[];
  readonly hasExternalIps: boolean;
  /** Folder of the control socket of ovs-vswitchd; undefined for a remote one. */
  readonly switchFolder: string | undefined;
  readonly log: Logger;
}

export interface OpenedServices {
  /** Problems of the node with Services. */
  readonly nodeProblems: readonly Problem[];
  /** The problems of each Service whose problems changed since the last call. */
  takeServiceProblems(): ReadonlyMap<string, readonly ServiceProblem[]>;
  /** Undefined if the Service is gone. */
  readonly uidOf: (service: string) => string | undefined;
  onResult(listener: () => void): void;
  close(): Promise<void>;
}

const zoneLabel = 'topology.kubernetes.io/zone';
/** The controller allocates the address with the first round that sees the node. */
const addressPatienceMs = 30_000;
const kubeProxyCheckMs = 600_000;
/** A flush reads all tracked connections. */
const flushAnswerMs = 10_000;

/** The table of Services, also for its removal. */
export function newServiceTable(onPort?: (port: number) => void): ServiceTable {
  return new ServiceTable({
    skeleton: planSkeleton(),
    renderChain: renderNamedChain,
    ...(onPort === undefined ? {} : { onPort }),
  });
}

export async function openServices(options: OpenServicesOptions): Promise<OpenedServices> {
  const { local, cluster, objects, nodeName, encapIp, nodePortNetworks, hasExternalIps, switchFolder, log } = options;
  const addresses = new NodeAddresses(local.netlink, encapIp);
  await addresses.refresh();
  const listeners = new Set<() => void>();
  const notify = (): void => listeners.forEach((listener) => listener());
  const ports = new OwnPorts();
  const table = newServiceTable((port) => ports.note(port));
  const serviceAddresses = (): readonly string[] => cluster.node?.serviceAddresses ?? [];
  const masqueraded = (): ReadonlySet<Family> => new Set(serviceAddresses().map((ip) => (ip.includes(':') ? 6 : 4)));
  const nodeAddresses = (): ReadonlySet<string> => {
    const input = { addresses: addresses.all, nodePortNetworks };
    return new Set([...nodePortAddresses(input, 4), ...nodePortAddresses(input, 6)]);
  };
  const refused = new Map<string, ServiceProblem>();
  /** Services whose health check port was refused, or is over, since the last report. */
  const dirty = new Set<string>();
  const checks = new HealthChecks({
    isHealthy: () => nodeServices.problem === undefined,
    onRefused: ({ namespace, name, port }, reason) => {
      const service = `${namespace}/${name}`;
      refused.set(service, {
        service,
        code: 'HealthCheckPortRefused',
        message: `node ${nodeName} cannot serve health checks on port ${port}: ${reason}; end the program that has the port there, or choose another spec.healthCheckNodePort`,
      });
      dirty.add(service);
      notify();
    },
    onOver: ({ namespace, name }) => {
      const service = `${namespace}/${name}`;
      if (refused.delete(service)) dirty.add(service);
    },
  });
  const stale = new StaleConnections({ flows: new UdpFlows(), clients: table, nodeAddresses, log });
  const switched = new SwitchConnections({
    flush: async (...tuples) => {
      if (switchFolder !== undefined)
        await callAll('ovs-vswitchd', switchFolder, 'dpctl/flush-conntrack', tuples.filter(Boolean), flushAnswerMs);
    },
    log,
  });
  const state = new Services(objects, (service) => nodeServices.changed(service));
  const nodeServices: NodeServices = new NodeServices({
    services: state,
    table,
    node: () => ({ node: nodeName, zone: cluster.node?.labels[zoneLabel] ?? '', masqueraded: masqueraded() }),
    nodeElements: () =>
      planNodeElements({
        podNetworks: podNetworksOf(cluster),
        serviceCidrs: state.cidrs,
        addresses: addresses.all,
        nodePortNetworks,
        ownAddresses: networkOf(cluster)?.addresses.map(({ ip }) => ip) ?? [],
        serviceAddresses: serviceAddresses(),
      }),
    hasExternalIps,
    onWritten: (changes) => {
      stale.add(changes);
      switched.add(changes);
    },
    onResult: () => {
      const changedChecks = nodeServices.takeHealthChecks();
      if (changedChecks !== undefined) checks.set(changedChecks);
      notify();
    },
  });

  const { nodes, subnets } = cluster.objects;
  const nodeChanged = (): void => nodeServices.nodeChanged();
  const stops = [
    nodes.subscribe(nodeChanged),
    subnets.subscribe(nodeChanged),
    objects.cidrs.subscribe(nodeChanged),
    watchRuleset({ family: 'inet', name: serviceTableName, isOwn: (port) => ports.has(port) }, () =>
      nodeServices.doubt(),
    ),
    local.kernelEvents.subscribe({
      onEvents: (events) => {
        if (events.some(({ type }) => type === RTM.NEWADDR || type === RTM.DELADDR)) void addresses.refresh();
      },
      onLoss: () => void addresses.refresh(),
    }),
  ];
  addresses.subscribe(nodeChanged);
  nodeServices.start();

  let kubeProxy: string | undefined;
  const lookForKubeProxy = async (): Promise<void> => {
    kubeProxy = await findKubeProxy();
    notify();
  };
  await lookForKubeProxy();
  const openedMs = performance.now();
  const timers = [
    setInterval(() => void lookForKubeProxy(), kubeProxyCheckMs).unref(),
    setTimeout(notify, addressPatienceMs + 1000).unref(),
  ];
  return {
    get nodeProblems() {
      const missing = performance.now() - openedMs < addressPatienceMs ? [] : missingFamilies(cluster, masqueraded());
      return [
        ...(nodeServices.problem === undefined ? [] : [nodeServices.problem]),
        ...(kubeProxy === undefined ? [] : [kubeProxyProblem(nodeName, kubeProxy)]),
        ...missing.map((family) => addressProblem(nodeName, family)),
      ];
    },
    takeServiceProblems() {
      const problems = new Map(
        [...new Set([...nodeServices.takeSettled(), ...dirty])].map((service) => {
          const known = refused.get(service);
          return [service, [...nodeServices.problemsOf(service), ...(known === undefined ? [] : [known])]] as const;
        }),
      );
      dirty.clear();
      return problems;
    },
    uidOf: (service) => state.get(service)?.uid,
    onResult: (listener) => void listeners.add(listener),
    async close() {
      for (const stop of stops) stop();
      for (const timer of timers) clearTimeout(timer);
      await Promise.all([nodeServices.close(), stale.close(), switched.close(), checks.close()]);
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

/** Families in which the node has an address on ovn0, but none to masquerade clients of Services. */
function missingFamilies(cluster: Cluster, masqueraded: ReadonlySet<Family>): readonly Family[] {
  const own = networkOf(cluster)?.addresses.map(({ ip }): Family => (ip.includes(':') ? 6 : 4)) ?? [];
  return own.filter((family) => !masqueraded.has(family));
}

function kubeProxyProblem(node: string, found: string): Problem {
  const message = `node ${node} has rules of kube-proxy (${found}) beside those of Isthmus, which come first; remove kube-proxy and run "kube-proxy --cleanup" on the node, or set services.nodes to "off"`;
  return { code: 'KubeProxyPresent', message };
}

function addressProblem(node: string, family: Family): Problem {
  const message = `Node ${node} has no IPv${family} address in annotation isthmus.network/service-address, so clients outside of the cluster are refused by Services with externalTrafficPolicy Cluster; the controller allocates it from Subnet join: look at its log and the subnet's free addresses`;
  return { code: 'ServiceAddressMissing', message };
}
