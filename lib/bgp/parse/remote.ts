import type { RawObject } from '../../kube/types.ts';
import { readRemotePrefixes } from '../../api/remote-prefixes.ts';
import { formatCidr } from '../../net/cidr.ts';
import type { Remote } from '../objects.ts';

/** Another cluster with those of its prefixes that are routes here. */
export function parseRemote(raw: RawObject): Remote {
  const byPrefix = new Map<string, Remote['routes'][number]>();
  for (const { cidr, isActive, origin, tags } of readRemotePrefixes(raw).listed) {
    const prefix = formatCidr(cidr);
    if (isActive) byPrefix.set(prefix, { prefix, origin, tags });
  }
  return { name: raw.metadata.name, labels: raw.metadata.labels ?? {}, routes: [...byPrefix.values()] };
}
