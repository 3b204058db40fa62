import type { RawObject } from '../../lib/kube/types.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { Node } from '../state/objects.ts';

/** A node with its InternalIPs in canonical text. */
export function parseNode(raw: RawObject): Node {
  const { addresses = [] } = (raw['status'] ?? {}) as { addresses?: readonly { type: string; address: string }[] };
  const internal = addresses
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => canonicalIp(address) ?? []);
  return { name: raw.metadata.name, labels: raw.metadata.labels ?? {}, addresses: internal };
}

/** Undefined for a text that is no address. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip && formatIp(ip);
}
