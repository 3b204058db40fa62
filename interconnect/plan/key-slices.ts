/**
 * GatewayKeySlices: what daemons of gateways need to know of WireGuard. In: this cluster's gateways and the members as the hub reports
 * them. Out: the data of each slice by name. Pure.
 */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import type { KeySlice } from '../model/key-slice.ts';
import type { Gateway, Member } from '../model/messages.ts';
import { modeOf, tunnelAddressOf, type EncryptionFacts } from '../settle/encryption.ts';

export interface KeySlicesInput {
  /** Name of this cluster. */
  readonly cluster: string;
  readonly facts: EncryptionFacts;
  /** Gateways of this cluster, as they are sent to the hub. */
  readonly own: readonly Gateway[];
  readonly members: Iterable<Member>;
}

/** Empty without a network for the addresses: there is no encryption then. */
export function planKeySlices({ cluster, facts, own, members }: KeySlicesInput): ReadonlyMap<string, KeySlice> {
  const { cidr, wish } = facts;
  if (cidr === '') return new Map();
  const slices = new Map<string, KeySlice>([[cluster, { cidr, isOwn: true, gateways: keysOf(own, cidr) }]]);
  for (const member of members)
    if (!member.foreign && member.name !== cluster && modeOf(wish, member) !== 'off')
      slices.set(member.name, { cidr, isOwn: false, gateways: keysOf(member.gateways, cidr) });
  return slices;
}

function keysOf(gateways: readonly Gateway[], cidr: string): readonly GatewayKey[] {
  return gateways
    .flatMap((gateway): GatewayKey[] => {
      const address = tunnelAddressOf(gateway, cidr);
      if (address === undefined || gateway.wireGuard == null) return [];
      const { publicKey, endpoints } = gateway.wireGuard;
      return [{ chassis: gateway.chassis, publicKey, address, endpoints: [...endpoints] }];
    })
    .sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}
