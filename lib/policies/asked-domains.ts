/** Reads which domain names pods of a node asked for: the daemon its own, the controller those of all nodes. */
import { askedDomain, mostAskedOfNode, type AskedDomain } from '../api/kinds/asked-domains.ts';
import { parseDomainName } from '../dns/name.ts';
import { fieldsOf } from '../kube/fields.ts';
import type { RawObject } from '../kube/types.ts';

/** Each name once for each Namespace; entries that are none are left out. */
export function parseAskedDomains(raw: RawObject): readonly AskedDomain[] {
  const { names } = fieldsOf(raw['spec']);
  if (!Array.isArray(names)) return [];
  const found = new Map<string, AskedDomain>();
  for (const each of names.slice(0, mostAskedOfNode)) {
    const { data } = askedDomain.safeParse(each);
    if (data === undefined || parseDomainName(data.name) !== data.name) continue;
    const key = `${data.name} ${data.namespace}`;
    if (!found.has(key)) found.set(key, data);
  }
  return [...found.values()];
}
