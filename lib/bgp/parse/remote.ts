import { readRemotePrefixes } from '../../api/remote-prefixes.ts';
import { fieldsOf, recordsOf, textOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import { formatCidr } from '../../net/cidr.ts';
import { learnedOrigin } from '../../route-policy/policy.ts';
import type { Remote } from '../objects.ts';

/** Another cluster with those of its prefixes that are routes here. */
export function parseRemote(raw: RawObject): Remote {
  const { listed, unlisted } = readRemotePrefixes(raw);
  const byPrefix = new Map<string, Remote['routes'][number]>();
  for (const { cidr, isActive, origin, tags } of listed) {
    const prefix = formatCidr(cidr);
    if (isActive) byPrefix.set(prefix, { prefix, origin, tags });
  }
  const owned = [...listed.filter(({ origin }) => origin !== learnedOrigin), ...unlisted];
  return {
    name: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    routes: [...byPrefix.values()],
    owned: owned.map(({ cidr, transitSwitch }) => ({ prefix: formatCidr(cidr), transitSwitch })),
    gateways: recordsOf(fieldsOf(raw['status'])['gateways']).map(({ address }) => textOf(address)),
  };
}
