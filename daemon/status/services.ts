/** Records events for problems with Services: on the Node, and on Services of which this node cannot serve a part. */
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
