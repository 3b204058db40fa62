import type { Node } from './objects.ts';

export type Family = 'ipv4' | 'ipv6';

/** Of an address or a prefix. */
export function familyOfAddress(address: string): Family {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

/** The node's first InternalIP of a family. */
export function nodeAddress(node: Node | undefined, family: Family): string | undefined {
  return node?.addresses.find((address) => familyOfAddress(address) === family);
}
