/** The kernel as a HostTarget: compares the wanted host network with the actual one and changes the difference. */
import type { Link } from '../../lib/netlink/link.ts';
import type { HostLink, HostNetwork } from '../model/host-network.ts';
import { AddressRoutes } from './address-routes.ts';
import { NftTable } from './nft.ts';
import { OwnRoutes } from './own-routes.ts';
import { setRules } from './policy-rules.ts';
import { ProgramError } from './program.ts';
import { mainTable, type Address, type PlacedRoute } from './rtnetlink-codec.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { forwarding6, getSysctl, hasIpv6, loosenReversePath, setSysctl } from './sysctl.ts';
import { type Attempt, type HostProblem, type HostTarget, linkMissing } from './target.ts';

/** rtm_protocol of our routes and rules; distinguishes them from those of the administrator and of routing daemons. */
export const routeProtocol = 155;
/** RTPROT_RA */
const routerAdvertised = 9;

export class KernelHost implements HostTarget<HostNetwork> {
  readonly #netlink: Rtnetlink;
  readonly #nft = new NftTable('inet');
  readonly #routes: OwnRoutes;
  readonly #addressRoutes: AddressRoutes;
  #used: ReadonlySet<number> = new Set();

  constructor(netlink: Rtnetlink) {
    this.#netlink = netlink;
    this.#routes = new OwnRoutes(netlink, routeProtocol);
    this.#addressRoutes = new AddressRoutes(netlink);
  }

  /** Indexes of the links that our routes to external gateways use. */
  get used(): ReadonlySet<number> {
    return this.#used;
  }

  /** Whether a route is one of the daemon, or a foreign one to the same destination. */
  concerns(route: PlacedRoute): boolean {
    return this.#routes.isWanted(route);
  }

  async set(wanted: HostNetwork): Promise<readonly HostProblem[]> {
    const problems: HostProblem[] = [];
    const attempt: Attempt = async (code, work, requester) => {
      try {
        await work();
      } catch (error) {
        if (!(error instanceof NetlinkError || error instanceof ProgramError || isSystemError(error))) throw error;
        problems.push(
          requester === undefined
            ? { code, message: error.message }
            : {
                code,
                message: `${error.message}; ${requester.advice}`,
                ...(requester.subnet === undefined ? {} : { subnet: requester.subnet }),
              },
        );
      }
    };
    await attempt('SysctlRefused', () => this.#keepRouters(wanted));
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
    let routes = await this.#netlink.placedRoutes();
    await attempt('LinkRefused', async () => {
      const restored = await this.#addressRoutes.restore(wantedAddresses(wanted, links, addresses), routes);
      problems.push(...restored.problems);
      if (restored.isChanged) routes = await this.#netlink.placedRoutes();
    });
    await this.#setRoutes(wanted, links, routes, attempt);
    await setRules(this.#netlink, wanted.rules, routeProtocol, attempt);
    return problems;
  }

  /** When IPv6 forwarding is turned on, the kernel drops default routes of router advertisements, unless accept_ra is 2. */
  async #keepRouters({ sysctls }: HostNetwork): Promise<void> {
    if (sysctls[forwarding6] === undefined || !hasIpv6() || getSysctl(forwarding6) === sysctls[forwarding6]) return;
    const heard = (await this.#netlink.placedRoutes()).filter(
      ({ destination, protocol }) => destination === '::/0' && protocol === routerAdvertised,
    );
    for (const { index, name } of await this.#netlink.links()) {
      const path = `net/ipv6/conf/${name}/accept_ra`;
      if (heard.some((route) => route.index === index) && getSysctl(path) === '1') setSysctl(path, '2');
    }
  }

  async #setLink(wanted: HostLink, actual: Link, addresses: readonly Address[]): Promise<void> {
    if (wanted.isMirror && hasIpv6()) setSysctl(`net/ipv6/conf/${wanted.name}/disable_ipv6`, '1');
    if (wanted.hasForeignSources) loosenReversePath(wanted.name);
    if (!wanted.isMirror) openToTraffic(wanted);
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

  async #setRoutes(
    wanted: HostNetwork,
    links: ReadonlyMap<string, Link>,
    present: readonly PlacedRoute[],
    attempt: Attempt,
  ): Promise<void> {
    const routes = wanted.routes.flatMap(({ destination, gateway, device, source, table = mainTable }) => {
      const index = links.get(device)?.index;
      return index === undefined
        ? []
        : [{ route: { destination, gateway, source, index, table }, code: 'RouteRefused' }];
    });
    const tableRoutes = wanted.tableRoutes.map(({ destination, gateway, table, subnet }) => {
      const advice = `the next hop ${gateway} of spec.externalEgressGateway must be a neighbour of this node, and table ${table} must have no other default route`;
      const route = { destination, gateway, source: undefined, index: undefined, table };
      return { route, code: 'EgressGatewayRefused', requester: { subnet, advice } };
    });
    await this.#routes.set([...routes, ...tableRoutes], present, attempt);
    const placed = wanted.tableRoutes.length === 0 ? [] : await this.#netlink.placedRoutes();
    this.#used = new Set(
      placed.flatMap(({ table, index = 0, protocol }) =>
        table === mainTable || protocol !== routeProtocol ? [] : [index],
      ),
    );
  }
}

/** These settings exist per link, independent of those for all links. */
function openToTraffic({ name, addresses }: HostLink): void {
  if (addresses.some((address) => !address.includes(':'))) setSysctl(`net/ipv4/conf/${name}/forwarding`, '1');
  if (!hasIpv6() || addresses.every((address) => !address.includes(':'))) return;
  setSysctl(`net/ipv6/conf/${name}/disable_ipv6`, '0');
  setSysctl(`net/ipv6/conf/${name}/forwarding`, '1');
}

/** The wanted addresses that running links have: for these the kernel must have its routes as well. */
function wantedAddresses(
  { links }: HostNetwork,
  actual: ReadonlyMap<string, Link>,
  addresses: readonly Address[],
): readonly Address[] {
  return links.flatMap((wanted) => {
    const link = actual.get(wanted.name);
    if (link?.isRunning !== true) return [];
    return addresses.filter(
      ({ index, address, prefix }) => index === link.index && wanted.addresses.includes(`${address}/${prefix}`),
    );
  });
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
