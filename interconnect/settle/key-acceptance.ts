/**
 * Rotation of keys: which next keys of other gateways this cluster accepts, and whether all others accept one of its own. In: members as
 * the hub reports them, and reports of this cluster's daemons. Pure.
 */
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { AcceptedKey, EncryptionWish, KeyAcceptance, Member } from '../model/messages.ts';
import { modeOf } from './encryption.ts';

/** A key counts once every gateway of this cluster that has a key has the other one in its WireGuard. */
export function acceptedKeys(
  wish: EncryptionWish,
  members: Iterable<Member>,
  reports: readonly GatewayWireGuard[],
): readonly AcceptedKey[] {
  const keyed = reports.filter(({ publicKey }) => publicKey !== undefined);
  const accepted: AcceptedKey[] = [];
  for (const member of members) {
    if (member.foreign || modeOf(wish, member) === 'off') continue;
    for (const { chassis, wireGuard } of member.gateways) {
      const publicKey = wireGuard?.nextKey ?? '';
      const isAccepted = ({ peers = [] }: GatewayWireGuard): boolean =>
        peers.some((peer) => peer.chassis === chassis && peer.nextKey === publicKey);
      if (publicKey !== '' && keyed.every(isAccepted)) accepted.push({ cluster: member.name, publicKey });
    }
  }
  return accepted.sort((a, b) => (a.publicKey < b.publicKey ? -1 : 1));
}

/**
 * Clusters with tunnels to this one that do not accept the key yet; undefined as long as the hub has not said that it announced to others the
 * key.
 */
export function clustersWithout(
  publicKey: string,
  wish: EncryptionWish,
  members: Iterable<Member>,
  acceptances: readonly KeyAcceptance[],
): readonly string[] | undefined {
  const found = acceptances.find((one) => one.publicKey === publicKey);
  if (found === undefined) return undefined;
  const known = new Set(found.clusters);
  return [...members]
    .filter((member) => !member.foreign && modeOf(wish, member) !== 'off' && !known.has(member.name))
    .filter(({ gateways }) => gateways.some(({ wireGuard }) => wireGuard != null))
    .map(({ name }) => name)
    .sort();
}
