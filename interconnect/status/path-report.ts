/** What this cluster reports to the hub about its paths, for people who look at the hub. In: statuses of RemoteClusters. Pure. */
import type { RemoteClusterStatus, RemotePathStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { mostListedPaths, type PathReport, type PathSummary } from '../model/messages.ts';

/** Worst first. */
const order: readonly RemotePathStatus['state'][] = ['Down', 'Unknown', 'Moving', 'HoldDown', 'Draining', 'Up'];

/** Clusters without a path are not counted. The written statuses count, so that a restart reports what was reported before. */
export function pathReport(
  version: string,
  remotes: Iterable<readonly [cluster: string, status: RemoteClusterStatus]>,
): PathReport {
  const all = Array.from(remotes).flatMap(([cluster, status]) => {
    const { paths = [] } = status;
    return paths.length === 0 ? [] : [{ ...summaryOf(cluster, paths), encryption: encryptionOf(status) }];
  });
  const isUp = ({ paths, up }: PathSummary): boolean => paths === up;
  const listed = all.toSorted((a, b) => Number(isUp(a)) - Number(isUp(b)) || (a.cluster < b.cluster ? -1 : 1));
  return {
    version,
    clusters: all.length,
    clustersUp: all.filter(isUp).length,
    listed: listed.slice(0, mostListedPaths),
  };
}

function encryptionOf({ encryption: mode = 'off', conditions = [] }: RemoteClusterStatus): string {
  const found = conditions.find(({ type }) => type === 'Encrypted');
  if (mode === 'off' || found === undefined) return 'off';
  return found.status === 'True' ? 'encrypted' : (found.reason ?? 'Unknown');
}

function summaryOf(cluster: string, paths: readonly RemotePathStatus[]): PathSummary {
  const [worst] = paths.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const times = paths.map(({ since }) => Date.parse(since ?? '')).filter((ms) => ms > 0);
  return {
    cluster,
    paths: paths.length,
    up: paths.filter(({ state }) => state === 'Up').length,
    state: worst?.state ?? 'Unknown',
    reason: worst?.reason ?? '',
    sinceMs: Math.max(0, ...times),
  };
}
