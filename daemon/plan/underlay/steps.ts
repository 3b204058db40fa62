/**
 * State of an interface → the steps that move its addresses and routes to a port of the bridge, or back. The steps follow from what the
 * kernel has now, so they may stop anywhere and be planned again. Pure.
 */
import type { MovedInterface } from '../../model/provider-network.ts';
import type { NicAddress, Nic, NicRoute, NicsByName, NicStep } from '../../model/nic.ts';

/** rtm_protocol of routes that other plans of this daemon make; these plans make them again on the other interface. */
const ownProtocol = 155;
const RT_SCOPE_LINK = 253;

/** Adds to the record what has appeared on `from` since. */
export function gather(moved: MovedInterface, from: Nic | undefined): MovedInterface {
  const has = new Set(moved.addresses.map(addressKey));
  const led = new Set(moved.routes.map(routeKey));
  const addresses = (from?.addresses ?? []).filter((address) => !has.has(addressKey(address)));
  const routes = (from?.routes ?? []).filter((route) => isMovable(route) && !led.has(routeKey(route)));
  if (addresses.length === 0 && routes.length === 0) return moved;
  return { ...moved, addresses: [...moved.addresses, ...addresses], routes: [...moved.routes, ...routes] };
}

/**
 * `join` moves from the interface to its port, `return` back, together with what the port was given meanwhile. Interfaces that do not exist are
 * left out. Empty if everything is as wanted.
 */
export function planSteps(
  moved: readonly MovedInterface[],
  nics: NicsByName,
  direction: 'join' | 'return',
): readonly NicStep[] {
  return moved.flatMap((one) => {
    const [from, to] =
      direction === 'join' ? [nics.get(one.device), nics.get(one.port)] : [nics.get(one.port), nics.get(one.device)];
    return to === undefined ? [] : stepsBetween(direction === 'join' ? one : gather(one, from), from, to);
  });
}

/** Addresses are on both interfaces for a moment, so that the node always has them; then the routes are moved one by one. */
function stepsBetween({ addresses, routes }: MovedInterface, from: Nic | undefined, to: Nic): NicStep[] {
  const has = new Set(to.addresses.map(addressKey));
  const leads = new Set(to.routes.map(routeKey));
  const steps: NicStep[] = addresses
    .filter((address) => !has.has(addressKey(address)))
    .map((address) => ({ do: 'addAddress', device: to.name, address }));
  if (from !== undefined)
    for (const address of from.addresses) steps.push({ do: 'deleteAddress', device: from.name, address });
  const missing = new Map(inOrder(routes.filter((route) => !leads.has(routeKey(route)))).map((r) => [routeKey(r), r]));
  for (const route of from === undefined ? [] : inOrder(from.routes)) {
    steps.push({ do: 'deleteRoute', device: from!.name, route });
    const wanted = missing.get(routeKey(route));
    if (wanted !== undefined) steps.push({ do: 'addRoute', device: to.name, route: wanted });
    missing.delete(routeKey(route));
  }
  for (const route of missing.values()) steps.push({ do: 'addRoute', device: to.name, route });
  return steps;
}

export function isMovable({ protocol }: NicRoute): boolean {
  return protocol !== ownProtocol;
}

/** Routes to networks on the link come first, because gateways are reached over them. */
function inOrder(routes: readonly NicRoute[]): readonly NicRoute[] {
  const rank = ({ scope, gateway }: NicRoute): number => (scope >= RT_SCOPE_LINK || gateway === undefined ? 0 : 1);
  return routes.toSorted((a, b) => rank(a) - rank(b));
}

function addressKey({ address, prefix }: NicAddress): string {
  return `${address}/${prefix}`;
}

function routeKey({ destination, gateway, table, tos, metric }: NicRoute): string {
  return [destination, gateway, table, tos, metric].join(' ');
}
