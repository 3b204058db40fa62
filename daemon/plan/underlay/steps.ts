/**
 * What an interface has → the steps that lead its addresses and routes to a port of the bridge, or back. Made of what
 * the kernel has now, so that they may end anywhere and be planned anew. Pure.
 */
import type { MovedInterface } from '../../model/provider-network.ts';
import type { NicAddress, Nic, NicRoute, NicsByName, NicStep } from '../../model/nic.ts';

/** rtm_protocol of routes that other plans of this daemon make, and make anew elsewhere. */
const ownProtocol = 155;
const RT_SCOPE_LINK = 253;

/** What is to move: what was recorded, and what has appeared on `from` since. */
export function gather(moved: MovedInterface, from: Nic | undefined): MovedInterface {
  const has = new Set(moved.addresses.map(addressKey));
  const led = new Set(moved.routes.map(routeKey));
  const addresses = (from?.addresses ?? []).filter((address) => !has.has(addressKey(address)));
  const routes = (from?.routes ?? []).filter((route) => isMovable(route) && !led.has(routeKey(route)));
  if (addresses.length === 0 && routes.length === 0) return moved;
  return { ...moved, addresses: [...moved.addresses, ...addresses], routes: [...moved.routes, ...routes] };
}

/**
 * `join`: from the interface to its port; `return`: back, with what the port has been given meanwhile. An end that is
 * not there is left out. Nothing where all is as wanted.
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

/** Addresses are at both ends for a moment, so that at no time there are none; then routes change over one by one. */
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

/** Networks on the link first: they are the way to gateways. */
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
