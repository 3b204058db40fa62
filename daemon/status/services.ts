/** Records events for problems with Services: on the Node, and on Services of which this node cannot serve a part. */
import type { OpenedDryRun } from '../apply/open-services-dry-run.ts';
import type { OpenedServices } from '../apply/open-services.ts';
import type { Cluster } from '../state/cluster.ts';
import type { ObjectEvents } from './events.ts';

/** From now on, after each result. */
export function reportServices(
  services: OpenedServices,
  events: Pick<ObjectEvents, 'reportServices' | 'reportServiceProblems'>,
  cluster: Pick<Cluster, 'node'>,
): void {
  const report = (): void => {
    if (cluster.node !== undefined) events.reportServices(cluster.node, services.nodeProblems);
    events.reportServiceProblems(services.takeServiceProblems(), services.uidOf);
  };
  services.onResult(report);
  report();
}

/** Records an event for the dry run itself, and for each obstacle of the node. */
export function reportDryRun(
  dryRun: Pick<OpenedDryRun, 'report' | 'problems' | 'onReport'>,
  events: Pick<ObjectEvents, 'reportServices' | 'reportDryRun'>,
  cluster: Pick<Cluster, 'node'>,
): void {
  const report = (): void => {
    if (cluster.node === undefined || dryRun.report === undefined) return;
    events.reportDryRun(cluster.node);
    events.reportServices(cluster.node, dryRun.problems);
  };
  dryRun.onReport(report);
  report();
}
