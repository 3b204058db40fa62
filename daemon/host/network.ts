/** The kernel's side of HostTarget: compares what is wanted with what it reports, and changes the difference. */
import type { Link } from '../../lib/netlink/link.ts';
import type { HostLink, HostNetwork } from '../plan/host-network.ts';
import { NftTable } from './nft.ts';
import { setRules } from './policy-rules.ts';
import { ProgramError } from './program.ts';
import { mainTable, type Address, type Route } from './rtnetlink-codec.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { hasIpv6, loosenReversePath, setSysctl } from './sysctl.ts';
import { type HostProblem, type HostTarget, linkMissing } from './target.ts';

/** rtm_protocol of our routes and rules: how they are told from those of the administrator and of routing daemons. */
export const routeProtocol = 155;

/** Whose wish a change is, and what its user can do when the kernel refuses it. */
export interface Wish {
  readonly subnet: string;
  readonly advice: string;
}

/** Runs one change; what is refused becomes a problem. */
export type Attempt = (code: string, work: () => Promise<void>, wish?: Wish) => Promise<void>;

export class KernelHost implements HostTarget<HostNetwork> {
  readonly #netlink: Rtnetlink;
  readonly #nft = new NftTable('inet');
  #used: ReadonlySet<number> = new Set();

  constructor(netlink: Rtnetlink) {
    this.#netlink = netlink;
  }

  /** Indexes of the links that our routes to gateways outside use. */
  get used(): ReadonlySet<number> {
    return this.#used;
  }

  async set(wanted: HostNetwork): Promise<readonly HostProblem[]> {
    const problems: HostProblem[] = [];
    const attempt: Attempt = async (code, work, wish) => {
      try {
        await work();
      } catch (error) {
        if (!(error instanceof NetlinkError || error instanceof ProgramError || isSystemError(error))) throw error;
        problems.push(
          wish === undefined
            ? { code, message: error.message }
            : { code, message: `${error.message}; ${wish.advice}`, subnet: wish.subnet },
        );
      }
    };
    for (const [path, value] of Object.entries(wanted.sysctls))
      await attempt('SysctlRefused', async () => setSysctl(path, value));
    await attempt('RulesetRefused', async () => void (await this.#nft.set(wanted.ruleset)));
    const links = new Map((await this.#netlink.links()).map((link) => [link.name, link]));
    const addresses = await this.#netlink.addresses();
    for (const link of wanted.links) {
      const actual = links.get(link.name);
      if (actual !== undefined) await attempt('LinkRefused', () => this.#setLink(link, actual, addresses));
      else if (!link.isMirror)
        problems.push({
          code: linkMissing,
          message: `Open vSwitch has not made interface ${link.name} yet; look at ovs-vswitchd's log`,
        });
    }
    await this.#setRoutes(wanted, links, attempt);
    await setRules(this.#netlink, wanted.rules, routeProtocol, attempt);
    return problems;
  }

  async #setLink(wanted: HostLink, actual: Link, addresses: readonly Address[]): Promise<void> {
    if (wanted.isMirror && hasIpv6()) setSysctl(`net/ipv6/conf/${wanted.name}/disable_ipv6`, '1');
    if (wanted.hasForeignSources) loosenReversePath(wanted.name);
    const change = {
      ...(wanted.mac === undefined || actual.mac === wanted.mac ? {} : { mac: wanted.mac }),
      ...(wanted.mtu === undefined || actual.mtu === wanted.mtu ? {} : { mtu: wanted.mtu }),
      ...(actual.isUp ? {} : { isUp: true }),
    };
    if (Object.keys(change).length > 0) await this.#netlink.setLink(actual.index, change);
    const present = new Map(
      addresses
        .filter(({ index }) => index === actual.index)
        .map((address) => [`${address.address}/${address.prefix}`, address]),
    );
    for (const cidr of wanted.addresses) {
      if (present.delete(cidr)) continue;
      const [address = '', prefix] = cidr.split('/');
      await this.#netlink.addAddress({ index: actual.index, address, prefix: Number(prefix) });
    }
    for (const stale of present.values()) await this.#netlink.deleteAddress(stale);
  }

  async #setRoutes(wanted: HostNetwork, links: ReadonlyMap<string, Link>, attempt: Attempt): Promise<void> {
    const ours = new Map((await this.#ownRoutes()).map((route) => [keyOf(route), route]));
    const set = async (wish: Omit<Route, 'protocol'>, ...attempted: [string, Wish?]): Promise<void> => {
      const route: Route = { ...wish, protocol: routeProtocol };
      const before = ours.get(keyOf(route));
      ours.delete(keyOf(route));
      if (before !== undefined && isSameRoute(before, route)) return;
      const [code, owner] = attempted;
      await attempt(code, () => this.#netlink.setRoute(route, before !== undefined), owner);
    };
    for (const { destination, gateway, device, source, table = mainTable } of wanted.routes) {
      const index = links.get(device)?.index;
      if (index !== undefined) await set({ destination, gateway, source, index, table }, 'RouteRefused');
    }
    for (const { destination, gateway, table, subnet } of wanted.tableRoutes) {
      const route = { destination, gateway, source: undefined, index: undefined, table };
      const advice = `the next hop ${gateway} of spec.externalEgressGateway must be a neighbour of this node, and table ${table} must have no other default route`;
      await set(route, 'EgressGatewayRefused', { subnet, advice });
    }
    for (const stale of ours.values()) await attempt('RouteRefused', () => this.#netlink.deleteRoute(stale));
    const placed = wanted.tableRoutes.length === 0 ? [] : await this.#ownRoutes();
    this.#used = new Set(placed.flatMap(({ table, index = 0 }) => (table === mainTable ? [] : [index])));
  }

  async #ownRoutes(): Promise<readonly Route[]> {
    return (await this.#netlink.routes()).filter(({ protocol }) => protocol === routeProtocol);
  }
}

function keyOf({ table, destination }: Pick<Route, 'table' | 'destination'>): string {
  return `${table} ${destination}`;
}

function isSameRoute(before: Route, wanted: Route): boolean {
  const isSameLink = wanted.index === undefined || before.index === wanted.index;
  return isSameLink && before.gateway === wanted.gateway && before.source === wanted.source;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
