import { routerAddress } from '../../route-policy/bgp-attributes.ts';
import { annotation, mostNodeAddresses } from '../../api/names.ts';
import { fieldsOf, recordsOf, textOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import { formatIp, parseIp } from '../../net/ip.ts';
import type { Node } from '../objects.ts';

/** A node with its InternalIPs in canonical text; they become router IDs and next hops, and a kubelet may write anything. */
export function parseNode(raw: RawObject): Node {
  const { addresses, conditions } = fieldsOf(raw['status']);
  const internal = recordsOf(addresses)
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => routerAddress(textOf(address)) ?? []);
  return {
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    addresses: [...new Set(internal)].slice(0, mostNodeAddresses),
    isCordoned: fieldsOf(raw['spec'])['unschedulable'] === true,
    isDrained: raw.metadata.annotations?.[annotation.bgpDrain] === 'true',
    isSilent: recordsOf(conditions).some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
  };
}

/** Undefined for a text that is not an address. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip && formatIp(ip);
}
