/**
 * The kernel as a HostTarget. It compares the whole wanted host network with the actual one at first, after another program changed something
 * of it, after a refusal, after a change of its frame, and with a change that comes a minute later. Otherwise it writes what changed in the
 * parts of owners, without reading anything: one Subnet among thousands costs as much as one alone.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Link } from '../../lib/netlink/link.ts';
import type { HostFrame, HostLink, HostNetwork, HostPart, HostRoute, TableRoute } from '../model/host-network.ts';
import { AddressRoutes } from './address-routes.ts';
import { NftTable } from './nft.ts';
import { OwnPorts } from './own-ports.ts';
import { OwnRoutes, type WantedRoute } from './own-routes.ts';
import { OwnSets } from './own-sets.ts';
import { setRules } from './policy-rules.ts';
import { ProgramError } from './program.ts';
import { mainTable, routeProtocol, type Address, type PlacedRoute } from './rtnetlink-codec.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { forwarding6, getSysctl, hasIpv6, loosenReversePath, setSysctl } from './sysctl.ts';
import { type Attempt, type HostProblem, type HostTarget, linkMissing } from './target.ts';
import { familyOf } from '../../lib/net/ip.ts';

/** RTPROT_RA */
const routerAdvertised = 9;

/** The kernel reports no change of routes that it removes with a link, for example, and none if another program replaces a route. */
const trustMs = 60_000;
/** Comparisons of the routes in a row. */
const tries = 5;
const emptyFrame: HostFrame = { links: [], tableRoutes: [], rules: [], ruleset: '', sysctls: {} };

export class KernelHost implements HostTarget<HostNetwork> {
  readonly #netlink: Rtnetlink;
  /** Netlink ports by which this object changes elements of the table. */
  readonly ports = new OwnPorts();
  readonly #nft = new NftTable('inet', { onPort: (port) => this.ports.note(port) });
  readonly #routes: OwnRoutes;
  readonly #sets = new OwnSets();
  readonly #addressRoutes: AddressRoutes;
  #used: ReadonlySet<number> = new Set();
  #frame = emptyFrame;
  #parts: HostNetwork['parts'] = new Map();
  #isInDoubt = true;
  #comparedMs = 0;
  /** Link → index, as of the last comparison. */
  #indexes: ReadonlyMap<string, number> = new Map();

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

  /** To be called after another program may have changed something: the next application compares everything. */
  doubt(): void {
    this.#isInDoubt = true;
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
    const isTrusted = !this.#isInDoubt && performance.now() - this.#comparedMs < trustMs;
    const isSameFrame = isDeepStrictEqual(wanted.frame, this.#frame);
    // A change from now on is in doubt again.
    this.#isInDoubt = false;
    if (!isSameFrame) this.#noteFrame(wanted.frame);
    this.#noteParts(wanted.parts);
    if (isTrusted && isSameFrame) {
      await attempt('RulesetRefused', async () => void (await this.#nft.change(this.#sets.takeChanges())));
      await this.#routes.change(this.#indexes, attempt);
    } else {
      this.#comparedMs = performance.now();
      await this.#compare(wanted.frame, attempt, problems);
    }
    if (problems.length > 0) this.#isInDoubt = true;
    return problems;
  }

  #noteFrame(frame: HostFrame): void {
    for (const route of this.#frame.tableRoutes) this.#routes.unwant(tableRoute(route));
    for (const route of frame.tableRoutes) this.#routes.want(tableRoute(route));
    this.#frame = frame;
  }

  #noteParts(parts: HostNetwork['parts']): void {
    const before = this.#parts;
    this.#parts = parts;
    for (const [owner, part] of before) if (parts.get(owner) !== part) this.#noteChange(part, parts.get(owner));
    for (const [owner, part] of parts) if (!before.has(owner)) this.#noteChange(undefined, part);
  }

  #noteChange(before: HostPart | undefined, after: HostPart | undefined): void {
    const routes = differenceOf(before?.routes, after?.routes);
    for (const route of routes.added) this.#routes.want(hostRoute(route));
    for (const route of routes.removed) this.#routes.unwant(hostRoute(route));
    const elements = differenceOf(before?.elements, after?.elements);
    for (const element of elements.added) this.#sets.add(element);
    for (const element of elements.removed) this.#sets.remove(element);
  }

  async #compare(wanted: HostFrame, attempt: Attempt, problems: HostProblem[]): Promise<void> {
    await attempt('SysctlRefused', () => this.#keepRouters(wanted));
    for (const [path, value] of Object.entries(wanted.sysctls))
      await attempt('SysctlRefused', async () => setSysctl(path, value));
    this.#sets.takeChanges();
    await attempt('RulesetRefused', async () => void (await this.#nft.set(wanted.ruleset, this.#sets.all)));
    const links = new Map((await this.#netlink.links()).map((link) => [link.name, link]));
    this.#indexes = new Map([...links].map(([name, { index }]) => [name, index]));
    const addresses = await this.#netlink.addresses();
    for (const link of wanted.links) {
      const actual = links.get(link.name);
      if (actual !== undefined) await attempt('LinkRefused', () => this.#setLink(link, actual, addresses));
      else if (!link.isMirror && link.network === undefined)
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
    for (let left = tries; (await this.#routes.set(routes, this.#indexes, attempt)) && left > 0; left -= 1)
      routes = await this.#netlink.placedRoutes();
    await this.#use(wanted);
    await setRules(this.#netlink, wanted.rules, routeProtocol, attempt);
  }

  /** When IPv6 forwarding is turned on, the kernel drops default routes of router advertisements, unless accept_ra is 2. */
  async #keepRouters({ sysctls }: HostFrame): Promise<void> {
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

  /** Finds the links that the routes to external gateways use. */
  async #use({ tableRoutes }: HostFrame): Promise<void> {
    const placed = tableRoutes.length === 0 ? [] : await this.#netlink.placedRoutes();
    this.#used = new Set(
      placed.flatMap(({ table, index = 0, protocol }) =>
        table === mainTable || protocol !== routeProtocol ? [] : [index],
      ),
    );
  }
}

/** Compares values by their content, and takes equal ones for one. */
function differenceOf<T>(
  before: readonly T[] = [],
  after: readonly T[] = [],
): { readonly removed: Iterable<T>; readonly added: Iterable<T> } {
  const byText = (values: readonly T[]): Map<string, T> => new Map(values.map((one) => [JSON.stringify(one), one]));
  const [removed, added] = [byText(before), byText(after)];
  for (const text of added.keys()) if (removed.delete(text)) added.delete(text);
  return { removed: removed.values(), added: added.values() };
}

function hostRoute({ destination, gateway, device, source, table = mainTable }: HostRoute): WantedRoute {
  return { route: { destination, gateway, source, table }, device, code: 'RouteRefused' };
}

function tableRoute({ destination, gateway, table, subnet }: TableRoute): WantedRoute {
  const advice = `the next hop ${gateway} of spec.externalEgressGateway must be a neighbour of this node, and table ${table} must have no other default route`;
  const route = { destination, gateway, source: undefined, table };
  return { route, device: undefined, code: 'EgressGatewayRefused', requester: { subnet, advice } };
}

/** These settings exist per link, independent of those for all links. */
function openToTraffic({ name, addresses }: HostLink): void {
  if (addresses.some((address) => familyOf(address) === 4)) setSysctl(`net/ipv4/conf/${name}/forwarding`, '1');
  if (!hasIpv6() || addresses.every((address) => familyOf(address) === 4)) return;
  setSysctl(`net/ipv6/conf/${name}/disable_ipv6`, '0');
  setSysctl(`net/ipv6/conf/${name}/forwarding`, '1');
}

/** The wanted addresses that running links have: for these the kernel must have its routes as well. */
function wantedAddresses(
  { links }: HostFrame,
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
