/**
 * Opens the dry run of Services: plans them as a node that serves them does, has nft check the table, and renders a report. Nothing is written
 * to the kernel, and no health check port is opened: kube-proxy may have it.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import { loadEndpoint } from '../../lib/kube/config.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import { renderDryRun } from '../../lib/services/dry-run.ts';
import { findKubeProxy } from '../host/kube-proxy.ts';
import { ServiceCheck } from '../host/service-check.ts';
import { planDryRun } from '../plan/services/dry-run.ts';
import { planSkeleton, renderNamedChain } from '../plan/services/skeleton.ts';
import { type ServiceObjects, Services } from '../state/services.ts';
import { openServiceInputs, type ServiceInputsOptions } from './service-inputs.ts';
import { NodeServices } from './services.ts';

export interface OpenServicesDryRunOptions extends ServiceInputsOptions {
  readonly objects: ServiceObjects;
  readonly hasExternalIps: boolean;
  /** Path of the daemon's kubeconfig; undefined for the service account of its pod. */
  readonly kubeconfig: string | undefined;
}

export interface OpenedDryRun {
  /** The latest report; undefined before the first. */
  readonly report: string | undefined;
  /** Obstacles of the node, of the latest report. */
  readonly problems: readonly Problem[];
  /** Called after each report that differs from the former one. */
  onReport(listener: () => void): void;
  close(): Promise<void>;
}

/** Endpoints change often, and each report is a write to the Node. */
const reportSpacingMs = 10_000;
/** For the whole table, and for rules of kube-proxy. */
const checkMs = 300_000;

export async function openServicesDryRun(options: OpenServicesDryRunOptions): Promise<OpenedDryRun> {
  const { objects, nodeName, hasExternalIps, kubeconfig } = options;
  const inputs = await openServiceInputs(options);
  const { server } = await loadEndpoint(kubeconfig, process.env);
  const apiServer = server.hostname.replaceAll(/[[\]]/g, '');
  const check = new ServiceCheck({ skeleton: planSkeleton(), renderChain: renderNamedChain });
  const state = new Services(objects, (service) => nodeServices.changed(service));
  const listeners = new Set<() => void>();
  let report: string | undefined;
  let problems: readonly Problem[] = [];
  let isPlanned = false;
  const reporting = new RoundEngine({
    spacingMs: () => reportSpacingMs,
    run: async () => {
      const kubeProxy = await findKubeProxy();
      const planned = planDryRun({
        node: nodeName,
        services: [...state.keys].flatMap((key) => state.get(key) ?? []),
        plans: nodeServices.plans,
        hasExternalIps,
        apiServer,
        kubeProxy,
        nodeProblems: [
          ...(nodeServices.problem === undefined ? [] : [nodeServices.problem]),
          ...inputs.addressProblems(),
        ],
        taken: [...state.keys].flatMap((key) => nodeServices.problemsOf(key)),
      });
      problems = planned.problems.filter(({ service }) => service === undefined);
      const text = renderDryRun(planned);
      if (text === report) return;
      report = text;
      for (const listener of listeners) listener();
    },
  });
  const nodeServices: NodeServices = new NodeServices({
    services: state,
    table: check,
    node: inputs.node,
    nodeElements: inputs.nodeElements,
    hasExternalIps,
    onWritten: () => undefined,
    onResult: () => {
      if (isPlanned) reporting.request();
      else reporting.start();
      isPlanned = true;
    },
  });
  inputs.subscribe(() => nodeServices.nodeChanged());
  nodeServices.start();
  const timer = setInterval(() => {
    if (check.isOutdated) nodeServices.doubt();
    reporting.request();
  }, checkMs).unref();
  return {
    get report() {
      return report;
    },
    get problems() {
      return problems;
    },
    onReport: (listener) => void listeners.add(listener),
    async close() {
      clearInterval(timer);
      inputs.close();
      await Promise.all([nodeServices.close(), reporting.close()]);
    },
  };
}
