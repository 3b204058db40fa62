import type { RemoteClusterStatus } from '../../api/kinds/remote-cluster.ts';
import type { RawObject } from '../../kube/types.ts';
import { formatCidr, parseCidr } from '../../net/cidr.ts';
import type { Remote } from '../objects.ts';

/** Another cluster with those of its prefixes that are routes here. */
export function parseRemote(raw: RawObject): Remote {
  const { routes = [] } = (raw['status'] ?? {}) as RemoteClusterStatus;
  const byPrefix = new Map<string, Remote['routes'][number]>();
  for (const { prefix: text, state, origin = '', tags = [] } of routes) {
    const cidr = parseCidr(text);
    if (state !== 'Active' || cidr === undefined) continue;
    const prefix = formatCidr(cidr);
    byPrefix.set(prefix, { prefix, origin, tags });
  }
  return { name: raw.metadata.name, labels: raw.metadata.labels ?? {}, routes: [...byPrefix.values()] };
}
