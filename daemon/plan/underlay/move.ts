/** The move of an interface: which addresses and routes move, and the record in the external_ids of the bridge. Pure. */
import { providerBridge } from '../../../lib/api/names.ts';
import type { MovedInterface, NicMove } from '../../model/provider-network.ts';
import type { Nic, NicsByName } from '../../model/nic.ts';
import { gather, isMovable } from './steps.ts';

/** `ovs/nic-move.ts` reads it back. */
export function formatMove(move: NicMove): string {
  return JSON.stringify(move);
}

/**
 * A new move. Addresses and routes that the bridge already has are part of it, because an earlier daemon may have moved them without being
 * able to record it.
 */
export function beginMove(
  network: string,
  nic: Nic,
  { nics, wish, checks }: { readonly nics: NicsByName; readonly wish: string; readonly checks: NicMove['checks'] },
): NicMove {
  const nothing: MovedInterface = { device: nic.name, port: providerBridge(network), addresses: [], routes: [] };
  const { name, mac, mtu } = nic;
  const moved = gather(gather(nothing, nic), nics.get(nothing.port));
  return { network, phase: 'joining', nic: name, mac, mtu, wish, moved: [moved], checks };
}

/** Adds addresses and routes that appeared on the interface since; returns the same object if there are none. */
export function extendMove(move: NicMove, nics: NicsByName): NicMove {
  const moved = move.moved.map((one) => gather(one, nics.get(one.device)));
  const mtu = nics.get(move.nic)?.mtu ?? move.mtu;
  const isSame = mtu === move.mtu && moved.every((one, at) => one === move.moved[at]);
  return isSame ? move : { ...move, mtu, moved };
}

/** The distinct next hops of default routes over an interface. */
export function defaultGateways(nic: Nic | undefined): readonly string[] {
  const routes = (nic?.routes ?? []).filter((one) => one.destination.endsWith('/0') && isMovable(one));
  return [...new Set(routes.flatMap(({ gateway }) => gateway ?? []))];
}

/** Description of the move for a dry run. */
export function describeMove({ network, nic, moved, checks }: NicMove): string {
  const bridge = providerBridge(network);
  const [addresses, routes] = [moved.flatMap((one) => one.addresses), moved.flatMap((one) => one.routes)];
  const what = [
    ...addresses.map((one) => `address ${one.address}/${one.prefix}`),
    ...routes.map((one) => `route ${one.destination}${one.gateway === undefined ? '' : ` via ${one.gateway}`}`),
  ];
  const moves = what.length === 0 ? '' : ` and move ${what.join(', ')} to it`;
  const watched = [
    ...checks.gateways.map((gateway) => `gateway ${gateway}`),
    ...(checks.api ? ['the API server'] : []),
  ];
  const check = watched.length === 0 ? '' : `; all would be moved back if ${watched.join(' or ')} did not answer then`;
  return `would create bridge ${bridge}, add ${nic} to it${moves}${check}`;
}
