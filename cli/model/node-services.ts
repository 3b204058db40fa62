/** What the daemons report of Services on their nodes, as `watch/node-services.ts` reads it. */
import type { ServicesDryRun } from '../../lib/services/dry-run.ts';

export interface NodeServicesReading {
  /** The mode of the daemons; undefined if there is no DaemonSet. */
  readonly mode: 'on' | 'dry-run' | 'off' | undefined;
  /** Nodes on which the daemon runs, by name. */
  readonly nodes: readonly {
    readonly name: string;
    /** Undefined if the daemon has not reported yet. */
    readonly report: ServicesDryRun | undefined;
  }[];
}
