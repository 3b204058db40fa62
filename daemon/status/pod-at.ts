/** The pods at the ports of the integration bridge. */
import type { Local } from '../apply/open-local.ts';
import type { Pod } from '../model/pod.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Sandboxes } from '../state/sandboxes.ts';

/** An interface of a pod. */
export interface PodPort<P = Pick<Pod, 'namespace' | 'name' | 'labels'>> {
  readonly pod: P;
  /** Prefix of the annotations of the interface. */
  readonly provider: string;
}

export interface PodAtSources {
  readonly local: Pick<Local, 'ovs'>;
  readonly cluster: Pick<Cluster, 'podOf'>;
  readonly sandboxes: Pick<Sandboxes, 'byHostInterface'>;
}

/** Finds the pod at a port of the bridge; undefined if it is of no pod. */
export function podAtOf({ local, cluster, sandboxes }: PodAtSources): (port: number) => PodPort<Pod> | undefined {
  return (port) => {
    // Each bridge has ports of its own; pods are in one bridge.
    for (const row of local.ovs.cache.table('Interface').byIndex(['ofport'], [port])) {
      const sandbox = sandboxes.byHostInterface(row['name'] as string);
      if (sandbox === undefined) continue;
      const pod = cluster.podOf(sandbox);
      return pod && { pod, provider: sandbox.provider };
    }
    return undefined;
  };
}
