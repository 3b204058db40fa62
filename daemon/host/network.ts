/** The kernel's side of HostTarget: compares what is wanted with what it reports, and changes the difference. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostLink, HostNetwork, HostRoute } from '../plan/host-network.ts';
import { NftTable } from './nft.ts';
import { ProgramError } from './program.ts';
import type { Address, Link, Route } from './rtnetlink-codec.ts';
import { NetlinkError, type Rtnetlink } from './rtnetlink.ts';
import { setSysctl } from './sysctl.ts';
import type { HostTarget } from './target.ts';

/** rtm_protocol of our routes: how they are told from those of the administrator and of routing daemons. */
export const routeProtocol = 155;

export class KernelHost implements HostTarget {
  readonly #netlink: Rtnetlink;
  readonly #nft = new NftTable();

  constructor(netlink: Rtnetlink) {
    this.#netlink = netlink;
  }

  async set(wanted: HostNetwork): Promise<readonly Problem[]> {
    const problems: Problem[] = [];
    const attempt = async (code: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        if (!(error instanceof NetlinkError || error instanceof ProgramError || isSystemError(error))) throw error;
        problems.push({ code, message: error.message });
      }
    };
    for (const [path, value] of Object.entries(wanted.sysctls))
      await attempt('SysctlRefused', async () => setSysctl(path, value));
    await attempt('RulesetRefused', async () => void (await this.#nft.set(wanted.ruleset)));
    const links = new Map((await this.#netlink.links()).map((link) => [link.name, link]));
    const addresses = await this.#netlink.addresses();
    for (const link of wanted.links) {
      const actual = links.get(link.name);
      if (actual === undefined)
        problems.push({
          code: 'LinkMissing',
          message: `Open vSwitch has not made interface ${link.name} yet; look at ovs-vswitchd's log`,
        });
      else await attempt('LinkRefused', () => this.#setLink(link, actual, addresses));
    }
    await this.#setRoutes(wanted.routes, links, attempt);
    return problems;
  }

  async #setLink(wanted: HostLink, actual: Link, addresses: readonly Address[]): Promise<void> {
    const change = {
      ...(actual.mac === wanted.mac ? {} : { mac: wanted.mac }),
      ...(actual.mtu === wanted.mtu ? {} : { mtu: wanted.mtu }),
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

  async #setRoutes(
    wanted: readonly HostRoute[],
    links: ReadonlyMap<string, Link>,
    attempt: (code: string, work: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const ours = new Map(
      (await this.#netlink.routes())
        .filter(({ protocol }) => protocol === routeProtocol)
        .map((route) => [route.destination, route]),
    );
    for (const { destination, gateway, device, source } of wanted) {
      const index = links.get(device)?.index;
      if (index === undefined) continue;
      const route: Route = { destination, gateway, source, index, protocol: routeProtocol };
      const before = ours.get(destination);
      ours.delete(destination);
      if (before !== undefined && isSameRoute(before, route)) continue;
      await attempt('RouteRefused', () => this.#netlink.setRoute(route, before !== undefined));
    }
    for (const stale of ours.values()) await attempt('RouteRefused', () => this.#netlink.deleteRoute(stale));
  }
}

function isSameRoute(a: Route, b: Route): boolean {
  return a.index === b.index && a.gateway === b.gateway && a.source === b.source;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
