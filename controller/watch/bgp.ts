/** The edge, BGP: what speakers say of their nodes. */
import { defaultVpc } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { BgpNodeState } from '../model/objects.ts';
import { fieldsOf, numberOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import { factsOf } from './fields.ts';

/** Of prefixes with several next hops the highest preference: which next hop it has is the node's own matter. */
export function parseBgpNodeState(raw: RawObject): BgpNodeState {
  const learned = new Map<string, number>();
  for (const entry of recordsOf(fieldsOf(raw['status'])['learned'])) {
    const cidr = parseCidr(textOf(entry['prefix']));
    if (cidr === undefined || entry['vpc'] !== defaultVpc) continue;
    const prefix = formatCidr(cidr);
    learned.set(prefix, Math.max(learned.get(prefix) ?? 0, numberOf(entry['preference'])));
  }
  return { ...factsOf(raw), learned };
}
