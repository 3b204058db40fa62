/**
 * Restores the two routes that the kernel makes for an address: to the address itself, and to its network. Without them, as after
 * "ip route flush dev ovn0", the next hops of all other routes on the link cannot be reached. The kernel only makes them when the
 * address is added, so the address is removed and added again.
 */
import { type Cidr, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, familyOf } from '../../lib/net/ip.ts';
import { type Address, localTable, mainTable, type PlacedRoute, RTN_LOCAL } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import type { HostProblem } from './target.ts';

export interface Restored {
  /** Whether addresses were added again. */
  readonly isChanged: boolean;
  readonly problems: readonly HostProblem[];
}

export class AddressRoutes {
  readonly #netlink: Pick<Rtnetlink, 'addAddress' | 'deleteAddress'>;
  /** Addresses that the last call added again; if a route is still missing, that becomes a problem, and the next call tries again. */
  readonly #tried = new Set<string>();

  constructor(netlink: Pick<Rtnetlink, 'addAddress' | 'deleteAddress'>) {
    this.#netlink = netlink;
  }

  /** Adds addresses that lack a route again; their link must be up and running. @throws NetlinkError */
  async restore(addresses: readonly Address[], present: readonly PlacedRoute[]): Promise<Restored> {
    const problems: HostProblem[] = [];
    let isChanged = false;
    for (const address of addresses) {
      const key = `${address.index} ${address.address}/${address.prefix}`;
      const missing = missingOf(address, present);
      if (missing === undefined) this.#tried.delete(key);
      else if (this.#tried.delete(key)) problems.push(gone(address, missing));
      else {
        this.#tried.add(key);
        isChanged = true;
        await this.#netlink.deleteAddress(address);
        await this.#netlink.addAddress(address);
      }
    }
    return { isChanged, problems };
  }
}

function missingOf({ index, address, prefix }: Address, present: readonly PlacedRoute[]): string | undefined {
  const itself = parseCidr(`${address}/${bitsOf(familyOf(address))}`);
  const network = parseCidr(`${address}/${prefix}`);
  if (itself === undefined || network === undefined) return undefined;
  const has = (table: number, cidr: Cidr, isRight: (route: PlacedRoute) => boolean): boolean =>
    present.some(
      (route) =>
        route.table === table && route.index === index && route.destination === formatCidr(cidr) && isRight(route),
    );
  if (!has(localTable, itself, ({ type }) => type === RTN_LOCAL)) return formatCidr(itself);
  const isWhole = network.prefix === itself.prefix;
  if (isWhole || has(mainTable, network, ({ unicast }) => unicast?.gateway === undefined)) return undefined;
  return formatCidr(network);
}

function gone({ address, prefix }: Address, missing: string): HostProblem {
  const message = `the kernel's route to ${missing} of address ${address}/${prefix} was removed, and did not return with the address; the daemon retries. To find the program that removes it, run "ip monitor route" and "ip rule"`;
  return { code: 'AddressRouteMissing', message };
}
