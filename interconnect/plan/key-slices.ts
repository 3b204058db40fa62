/**
 * GatewayKeySlices: what daemons of gateways need to know of WireGuard. In: this cluster's gateways and the members as the hub reports
 * them. Out: the data of each slice by name. Pure.
 */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import type { KeySlice } from '../model/key-slice.ts';
import type { Gateway, KeyAcceptance, Member } from '../model/messages.ts';
import { modeOf, tunnelAddressOf, type EncryptionFacts } from '../settle/encryption.ts';
import { clustersWithout } from '../settle/key-acceptance.ts';

export interface KeySlicesInput {
  /** Name of this cluster. */
  readonly cluster: string;
  readonly facts: EncryptionFacts;
  /** Gateways of this cluster, as they are sent to the hub. */
  readonly own: readonly Gateway[];
  readonly members: Iterable<Member>;
  /** Of next keys of this cluster. */
  readonly acceptances: readonly KeyAcceptance[];
  /** Whether there is a session with the hub: without one, gateways keep their keys, which could not be announced to others. */
  readonly isConnected: boolean;
}

/** Empty without a network for the addresses: there is no encryption then. */
export function planKeySlices(input: KeySlicesInput): ReadonlyMap<string, KeySlice> {
  const { cluster, facts, own } = input;
  const { cidr, wish } = facts;
  if (cidr === '') return new Map();
  const members = [...input.members].filter((member) => member.name !== cluster);
  const ownKeys = keysOf(own, cidr).map((key) => withWaiting(key, input, members));
  const slices = new Map<string, KeySlice>([[cluster, { cidr, isOwn: true, gateways: ownKeys }]]);
  for (const member of members)
    if (!member.foreign && modeOf(wish, member) !== 'off')
      slices.set(member.name, { cidr, isOwn: false, gateways: keysOf(member.gateways, cidr) });
  return slices;
}

/** The next key is there for the daemon once it was announced to other clusters. */
function withWaiting(
  { nextKey, ...key }: GatewayKey,
  { facts, acceptances, isConnected }: KeySlicesInput,
  members: readonly Member[],
): GatewayKey {
  if (nextKey === undefined || !isConnected) return key;
  const waitsFor = clustersWithout(nextKey, facts.wish, members, acceptances);
  return waitsFor === undefined ? key : { ...key, nextKey, waitsFor: [...waitsFor] };
}

function keysOf(gateways: readonly Gateway[], cidr: string): readonly GatewayKey[] {
  return gateways
    .flatMap((gateway): GatewayKey[] => {
      const address = tunnelAddressOf(gateway, cidr);
      if (address === undefined || gateway.wireGuard == null) return [];
      const { publicKey, endpoints, nextKey = '' } = gateway.wireGuard;
      const key = { chassis: gateway.chassis, publicKey, address, endpoints: [...endpoints] };
      return [nextKey === '' ? key : { ...key, nextKey }];
    })
    .sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}
