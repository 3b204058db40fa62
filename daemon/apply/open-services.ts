/** Opens the part of the daemon that serves Services: state, the nftables table, health checks, and their problems. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { callAll } from '../../lib/ovn/unixctl.ts';
import { findKubeProxy } from '../host/kube-proxy.ts';
import { OwnPorts } from '../host/own-ports.ts';
import { ServiceTable, serviceTableName } from '../host/service-table.ts';
import { UdpFlows } from '../host/udp-flows.ts';
import { watchRuleset } from '../host/watch-ruleset.ts';
import { planSkeleton, renderNamedChain } from '../plan/services/skeleton.ts';
import { type ServiceObjects, Services } from '../state/services.ts';
import { HealthChecks } from './health-checks.ts';
import { Healthz } from './healthz.ts';
import { openServiceInputs, type ServiceInputsOptions } from './service-inputs.ts';
import { NodeServices, type ServiceProblem } from './services.ts';
import { StaleConnections } from './stale-connections.ts';
import { SwitchConnections } from './switch-connections.ts';

export interface OpenServicesOptions extends ServiceInputsOptions {
  readonly objects: ServiceObjects;
  readonly hasExternalIps: boolean;
  /** 0: no server. */
  readonly healthzPort: number;
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
  const { cluster, objects, nodeName, hasExternalIps, healthzPort, switchFolder, log } = options;
  const inputs = await openServiceInputs(options);
  const listeners = new Set<() => void>();
  const notify = (): void => listeners.forEach((listener) => listener());
  const ports = new OwnPorts();
  const table = newServiceTable((port) => ports.note(port));
  const refused = new Map<string, ServiceProblem>();
  /** Services whose health check port was refused, or is over, since the last report. */
  const dirty = new Set<string>();
  const isHealthy = (): boolean => nodeServices.problem === undefined;
  const checks = new HealthChecks({
    isHealthy,
    onRefused: ({ namespace, name, port }, reason) => {
      const service = `${namespace}/${name}`;
      refused.set(service, {
        service,
        code: 'HealthCheckPortRefused',
        message: `node ${nodeName} cannot serve health checks on port ${port}: ${reason}; stop the program that uses the port there, or choose another spec.healthCheckNodePort`,
      });
      dirty.add(service);
      notify();
    },
    onOver: ({ namespace, name }) => {
      const service = `${namespace}/${name}`;
      if (refused.delete(service)) dirty.add(service);
    },
  });
  let updatedMs: number | undefined;
  let healthz: Healthz | undefined;
  const newHealthz = (): Healthz =>
    new Healthz({
      port: healthzPort,
      isHealthy,
      isEligible: () => cluster.node?.isToBeDeleted === false,
      updatedMs: () => updatedMs,
      onChange: notify,
    });
  const stale = new StaleConnections({
    flows: new UdpFlows(),
    clients: table,
    nodeAddresses: inputs.nodePortAddresses,
    log,
  });
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
    node: inputs.node,
    nodeElements: inputs.nodeElements,
    hasExternalIps,
    onWritten: (changes) => {
      stale.add(changes);
      switched.add(changes);
    },
    onResult: () => {
      if (isHealthy()) updatedMs = Date.now();
      // Before the first round it is not known whether the kernel has the table.
      if (healthzPort !== 0) healthz ??= newHealthz();
      const changedChecks = nodeServices.takeHealthChecks();
      if (changedChecks !== undefined) checks.set(changedChecks);
      notify();
    },
  });

  inputs.subscribe(() => nodeServices.nodeChanged());
  const stopWatching = watchRuleset({ family: 'inet', name: serviceTableName, isOwn: (port) => ports.has(port) }, () =>
    nodeServices.doubt(),
  );
  nodeServices.start();

  let kubeProxy: string | undefined;
  const lookForKubeProxy = async (): Promise<void> => {
    kubeProxy = await findKubeProxy();
    notify();
  };
  await lookForKubeProxy();
  const timer = setInterval(() => void lookForKubeProxy(), kubeProxyCheckMs).unref();
  return {
    get nodeProblems() {
      return [
        ...(nodeServices.problem === undefined ? [] : [nodeServices.problem]),
        ...(kubeProxy === undefined
          ? healthzProblems(nodeName, healthzPort, healthz?.refusal)
          : [kubeProxyProblem(nodeName, kubeProxy)]),
        ...inputs.addressProblems(),
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
      stopWatching();
      clearInterval(timer);
      inputs.close();
      // A last round may open servers.
      await nodeServices.close();
      await Promise.all([stale.close(), switched.close(), checks.close(), healthz?.close()]);
    },
  };
}

function kubeProxyProblem(node: string, found: string): Problem {
  const message = `node ${node} has rules of kube-proxy (${found}) beside those of Isthmus, which take precedence; remove kube-proxy and run "kube-proxy --cleanup" on the node, or set services.nodes to "off"`;
  return { code: 'KubeProxyPresent', message };
}

/** Beside kube-proxy there is none: it has the port until it is removed. */
function healthzProblems(node: string, port: number, refusal: string | undefined): readonly Problem[] {
  if (refusal === undefined) return [];
  const message = `node ${node} cannot answer load balancers of the cloud on port ${port}: ${refusal}; stop the program that uses the port there (ss -ltnp "sport = :${port}"), or set services.healthzPort to the port that the load balancers ask, 0 for none`;
  return [{ code: 'HealthzPortRefused', message }];
}
