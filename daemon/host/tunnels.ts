/**
 * Encrypted tunnels in the kernel of the node: the way of packets from Open vSwitch to WireGuard, the guard that leaves them no other, and the
 * settings of WireGuard. Whatever is there already stays: a daemon that starts again interrupts nothing.
 *
 * With the userspace datapath, tunnels leave Open vSwitch by a bridge of their own, to a namespace that forwards them to WireGuard: in the
 * namespace of the node they would be for the node itself, and not go to Open vSwitch. In the namespace, nftables also translates addresses. The socket of
 * WireGuard stays in the namespace of the node. With the datapath of the kernel, a route to the WireGuard interface is enough.
 */
import type { Link } from '../../lib/netlink/link.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { linkAddress, tunnelLinks, type DeviceChange, type SeenDevice, type TunnelsPlan } from '../model/wireguard.ts';
import { disableTransmitChecksum } from './ethtool.ts';
import { createNetns, hasNetns, openNetns, removeNetns, type Netns } from './netns.ts';
import { NftTable } from './nft.ts';
import { isRefusal, Refusal, refusalProblem } from './refusal.ts';
import { mainTable } from './rtnetlink-codec.ts';
import { Rtnetlink } from './rtnetlink.ts';
import { hasIpv6, setSysctl } from './sysctl.ts';
import { type HostProblem, type HostTarget, linkMissing } from './target.ts';
import { changeKernelDevice, readKernelDevice } from './wireguard-netlink.ts';
import { removeKeys } from './wireguard-key.ts';
import { changeUapi, readUapi } from './wireguard-uapi.ts';

/** rtm_protocol of the routes of tunnels: those of the host network are compared as a whole. */
const tunnelProtocol = 156;
/** Of the route that counts while the bridge is gone. */
const spareMetric = 4096;
const ruleTable = 'isthmus-tunnels';
/** Of the end in the namespace: the same on every node, so that Open vSwitch never learns another one. */
const insideMac = '02:69:73:74:77:67';
/** An edited ruleset is noticed after this time. */
const ruleTrustMs = 60_000;
/** Links, addresses and routes are compared after this time even if the kernel has reported no change. */
const trustMs = 10_000;

export interface TunnelsHostOptions {
  readonly netlink: Rtnetlink;
  /** File of the namespace. */
  readonly namespace: string;
  readonly isUserspace: boolean;
  /** Of wireguard-go. */
  readonly socket: string;
  /** MTU of the WireGuard interface. */
  readonly mtu: number;
  /** Gives Open vSwitch the bridge, or takes it away; resolves when the database has it. */
  readonly plug: (isWanted: boolean) => Promise<void>;
  /** Gives the userspace datapath its own route to the network, and the neighbour by which it leads. */
  readonly pin: (cidr: string, neighbourMac: string) => Promise<void>;
  readonly unpin: (cidr: string) => Promise<void>;
  /** What has to change in WireGuard; undefined for nothing. */
  readonly changesOf: (seen: SeenDevice) => DeviceChange | undefined;
}

export class KernelTunnels implements HostTarget<TunnelsPlan | 'none'> {
  readonly #options: TunnelsHostOptions;
  #isBusy = false;
  #checking: Promise<void> = Promise.resolve();
  #isGuarded = false;
  #device: SeenDevice | undefined;
  #address: string | undefined;
  #rules = { cidr: '', text: '', checkedMs: 0 };
  /** What everything was compared with last, and when. */
  #compared = { plan: '', atMs: 0 };
  #isKernel = false;

  constructor(options: TunnelsHostOptions) {
    this.#options = options;
  }

  /** Packets for addresses within tunnels go to WireGuard or nowhere. */
  get isGuarded(): boolean {
    return this.#isGuarded;
  }

  /** WireGuard as it was read last; undefined if it does not run. */
  get device(): SeenDevice | undefined {
    return this.#device;
  }

  /** The address that the node has within tunnels. */
  get address(): string | undefined {
    return this.#address;
  }

  /** To be called after another program may have changed something: the next application compares everything. */
  doubt(): void {
    this.#compared = { plan: '', atMs: 0 };
  }

  /** Reads WireGuard again and changes what is to be changed, unless that is being done anyway. @throws Refusal */
  async check(): Promise<void> {
    if (this.#isBusy || this.#device === undefined) return;
    const check = this.#checkDevice(this.#device);
    this.#isBusy = true;
    this.#checking = check.then(
      () => undefined,
      () => undefined,
    );
    try {
      await check;
    } finally {
      this.#isBusy = false;
    }
  }

  async set(plan: TunnelsPlan | 'none'): Promise<readonly HostProblem[]> {
    await this.#checking;
    this.#isBusy = true;
    try {
      const text = textOf(plan);
      if (plan === 'none') await this.#remove();
      else if (!(await this.#isAsCompared(text))) {
        // A change from now on is in doubt again.
        this.#compared = { plan: text, atMs: performance.now() };
        await this.#keep(plan);
      }
      return [];
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.doubt();
      return [refusalProblem(error)];
    } finally {
      this.#isBusy = false;
    }
  }

  /** Reads WireGuard alone, as long as nothing else can have changed. */
  async #isAsCompared(text: string): Promise<boolean> {
    const { plan, atMs } = this.#compared;
    if (plan !== text || performance.now() - atMs >= trustMs || this.#device === undefined) return false;
    return await this.#checkDevice(this.#device);
  }

  /** False if WireGuard was started again since it was read as `before`, and has no settings. */
  async #checkDevice(before: SeenDevice): Promise<boolean> {
    const { isUserspace, namespace } = this.#options;
    const netns = isUserspace && this.#isKernel ? openNetns(namespace) : undefined;
    try {
      const name = tunnelLinks.device;
      const seen = await this.#read(this.#isKernel, name, netns);
      if (seen.privateKey !== before.privateKey) return false;
      this.#device = seen;
      const change = this.#options.changesOf(seen);
      if (change === undefined) return true;
      await this.#change(this.#isKernel, name, netns, change);
      this.#device = await this.#read(this.#isKernel, name, netns);
      return true;
    } finally {
      netns?.close();
    }
  }

  async #keep(plan: TunnelsPlan): Promise<void> {
    const { isUserspace, netlink } = this.#options;
    const areRulesDue = await this.#keepRules(plan);
    if (!isUserspace) {
      this.#isGuarded = true;
      await this.#keepDevice(netlink, plan, undefined);
      return;
    }
    const { namespace } = this.#options;
    const isNew = !hasNetns(namespace);
    if (isNew) createNetns(namespace);
    const netns = openNetns(namespace);
    const inside = netns.run(() => new Rtnetlink());
    try {
      if (isNew || areRulesDue) await new NftTable('inet', { name: ruleTable, netns }).set(plan.rules.inside);
      netns.run(setForwarding);
      await this.#keepLink(netns, inside, plan.cidr);
      await this.#keepBridge(plan);
      this.#isGuarded = true;
      await this.#keepDevice(inside, plan, netns);
    } finally {
      inside.close();
      netns.close();
    }
  }

  /** Returns whether it was time to compare them. */
  async #keepRules({ cidr, rules }: TunnelsPlan): Promise<boolean> {
    const nowMs = performance.now();
    const text = JSON.stringify(rules);
    if (this.#rules.text === text && nowMs - this.#rules.checkedMs < ruleTrustMs) return false;
    await new NftTable('inet', { name: ruleTable }).set(rules.node);
    this.#rules = { cidr, text, checkedMs: nowMs };
    return true;
  }

  /**
   * The pair between Open vSwitch and the namespace. The bridge is gone, and its routes with it, whenever ovs-vswitchd starts again: then a
   * route to the port, which is no bridge, keeps tunnels from the default route.
   */
  async #keepLink(netns: Netns, inside: Rtnetlink, cidr: string): Promise<void> {
    const { netlink, mtu } = this.#options;
    const { port, inside: name } = tunnelLinks;
    const there = await inside.findLink(name);
    if (there === undefined || (await netlink.findLink(port)) === undefined) {
      await netlink.deleteLink(port);
      await netlink.addVeth({ name: port, mtu, peer: { name, mac: insideMac, netnsFd: netns.fd } });
      disableTransmitChecksum(netns, name);
    }
    if (hasIpv6()) setSysctl(`net/ipv6/conf/${port}/disable_ipv6`, '1');
    const outside = await netlink.link(port);
    await up(netlink, outside, mtu);
    await keepAddresses(netlink, outside, [{ text: `${linkAddress.port}/${linkAddress.prefix}`, hasRoute: true }]);
    const spare = { destination: cidr, gateway: linkAddress.nowhere, index: outside.index, metric: spareMetric };
    await keepRoute(netlink, spare);
    const link = await inside.link(name);
    await up(inside, link, mtu);
    await keepAddresses(inside, link, [{ text: `${linkAddress.inside}/${linkAddress.prefix}`, hasRoute: true }]);
  }

  /** The route to the whole network is there before any address is: without it packets would follow the default route. */
  async #keepBridge({ cidr }: TunnelsPlan): Promise<void> {
    const { netlink, plug, mtu } = this.#options;
    const { bridge } = tunnelLinks;
    await plug(true);
    const link = await netlink.findLink(bridge);
    if (link === undefined)
      throw new Refusal(linkMissing, `Open vSwitch has not made ${bridge} yet; look at ovs-vswitchd's log`);
    if (hasIpv6()) setSysctl(`net/ipv6/conf/${bridge}/disable_ipv6`, '1');
    await up(netlink, link, mtu);
    await keepAddresses(netlink, link, [{ text: `${linkAddress.bridge}/${linkAddress.prefix}`, hasRoute: true }]);
    await keepRoute(netlink, { destination: cidr, gateway: linkAddress.inside, index: link.index });
    await this.#options.pin(cidr, insideMac);
  }

  async #keepDevice(inside: Rtnetlink, plan: TunnelsPlan, netns: Netns | undefined): Promise<void> {
    const { device: name, inside: back } = tunnelLinks;
    try {
      const link = await this.#findDevice(inside, netns);
      await up(inside, link, this.#options.mtu);
      if (netns === undefined) {
        const [, bits = ''] = plan.cidr.split('/');
        const addresses = plan.address === undefined ? [] : [{ text: `${plan.address}/${bits}`, hasRoute: false }];
        await keepAddresses(inside, link, addresses);
        this.#address = plan.address;
      } else {
        const { index } = await inside.link(back);
        // A bridge that is made anew may have another MAC address, which nothing would tell the namespace.
        await inside.setNeighbour({ index, ip: plan.end, mac: await this.#macOf(plan.end) });
        await keepRoute(inside, { destination: `${plan.end}/32`, gateway: undefined, index });
        this.#address = plan.address;
      }
      await keepRoute(inside, { destination: plan.cidr, gateway: undefined, index: link.index });
      const isKernel = link.kind === 'wireguard';
      this.#isKernel = isKernel;
      const seen = await this.#read(isKernel, name, netns);
      const change = this.#options.changesOf(seen);
      if (change !== undefined) await this.#change(isKernel, name, netns, change);
      this.#device = change === undefined ? seen : await this.#read(isKernel, name, netns);
    } catch (error) {
      this.#device = undefined;
      throw error;
    }
  }

  /** Open vSwitch ends tunnels for the address of a bridge and the MAC address of the same bridge, wherever they arrive. */
  async #macOf(address: string): Promise<string> {
    const links = await this.#options.netlink.addressedLinks();
    const mac = links.find(({ addresses }) => addresses.includes(address))?.mac;
    if (mac === undefined) throw new Refusal(linkMissing, `no interface of the node has the tunnel address ${address}`);
    return mac;
  }

  /** wireguard-go makes its interface in the namespace of the node. */
  async #findDevice(inside: Rtnetlink, netns: Netns | undefined): Promise<Link> {
    const { netlink } = this.#options;
    const { device: name } = tunnelLinks;
    const fresh = netns === undefined ? undefined : await netlink.findLink(name);
    if (fresh !== undefined && netns !== undefined) {
      // One of an earlier wireguard-go may be about to disappear.
      await inside.deleteLink(name);
      await netlink.moveLink(fresh.index, netns.fd);
    }
    const found = await inside.findLink(name);
    if (found !== undefined) return found;
    try {
      await netlink.addLink(name, 'wireguard');
    } catch (error) {
      if (!(error instanceof NetlinkError) || error.code !== 'EOPNOTSUPP') throw error;
      // Says why there is no interface.
      await readUapi(this.#options.socket);
      throw new Refusal('WireGuardDown', `wireguard-go runs without its interface ${name}; restart it`);
    }
    if (netns !== undefined) await netlink.moveLink((await netlink.link(name)).index, netns.fd);
    return await inside.link(name);
  }

  #read(isKernel: boolean, name: string, netns: Netns | undefined): Promise<SeenDevice> {
    if (!isKernel) return readUapi(this.#options.socket);
    return kernel(netns, () => readKernelDevice(name));
  }

  #change(isKernel: boolean, name: string, netns: Netns | undefined, change: DeviceChange): Promise<void> {
    if (!isKernel) return changeUapi(this.#options.socket, change);
    return kernel(netns, () => changeKernelDevice(name, change));
  }

  async #remove(): Promise<void> {
    const { netlink, namespace, isUserspace, plug } = this.#options;
    this.#isGuarded = false;
    this.#device = undefined;
    this.#address = undefined;
    if (isUserspace) {
      await plug(false);
      if (this.#rules.cidr !== '') await this.#options.unpin(this.#rules.cidr);
    }
    await removeLinks(netlink, namespace);
    this.#rules = { cidr: '', text: '', checkedMs: 0 };
  }
}

/** Removes all that an earlier process left, and the private key. The bridge is in the database of Open vSwitch. */
export async function removeTunnels(
  netlink: Rtnetlink,
  { namespace, key }: { readonly namespace: string; readonly key: string },
): Promise<void> {
  await removeLinks(netlink, namespace);
  removeKeys(key);
}

async function removeLinks(netlink: Rtnetlink, namespace: string): Promise<void> {
  await netlink.deleteLink(tunnelLinks.port);
  const device = await netlink.findLink(tunnelLinks.device);
  // That of a wireguard-go ends with it, which waits for the next time it is needed.
  if (device?.kind === 'wireguard') await netlink.deleteLink(tunnelLinks.device);
  else if (device !== undefined) await keepAddresses(netlink, device, []);
  removeNetns(namespace);
  await new NftTable('inet', { name: ruleTable }).remove();
}

/** Without the peers, which only WireGuard has: they may change their keys, and everything else need not be compared for that. */
function textOf(plan: TunnelsPlan | 'none'): string {
  return JSON.stringify(plan === 'none' ? plan : { ...plan, peers: [] });
}

async function kernel<T>(netns: Netns | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await (netns === undefined ? work() : netns.run(work));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new Refusal('WireGuardDown', `WireGuard of the kernel: ${error.message}`, { cause: error });
  }
}

function setForwarding(): void {
  setSysctl('net/ipv4/ip_forward', '1');
  for (const place of ['all', 'default']) {
    setSysctl(`net/ipv4/conf/${place}/rp_filter`, '0');
    setSysctl(`net/ipv4/conf/${place}/send_redirects`, '0');
  }
}

async function up(netlink: Rtnetlink, link: Link, mtu: number): Promise<void> {
  const change = { ...(link.isUp ? {} : { isUp: true }), ...(link.mtu === mtu ? {} : { mtu }) };
  if (Object.keys(change).length > 0) await netlink.setLink(link.index, change);
}

async function keepAddresses(
  netlink: Rtnetlink,
  { index }: Link,
  wanted: readonly { readonly text: string; readonly hasRoute: boolean }[],
): Promise<void> {
  const present = new Map(
    (await netlink.addresses())
      .filter((one) => one.index === index && !one.address.includes(':'))
      .map((one) => [`${one.address}/${one.prefix}`, one]),
  );
  for (const { text, hasRoute } of wanted) {
    if (present.delete(text)) continue;
    const [address = '', prefix] = text.split('/');
    await netlink.addAddress({ index, address, prefix: Number(prefix) }, hasRoute);
  }
  for (const stale of present.values()) await netlink.deleteAddress(stale);
}

interface KeptRoute {
  readonly destination: string;
  readonly gateway: string | undefined;
  readonly index: number;
  readonly metric?: number;
}

async function keepRoute(netlink: Rtnetlink, { destination, gateway, index, metric = 0 }: KeptRoute): Promise<void> {
  const isSame = (await netlink.routes()).some(
    (route) =>
      route.table === mainTable &&
      route.destination === destination &&
      route.gateway === gateway &&
      route.index === index &&
      (route.metric ?? 0) === metric &&
      route.protocol === tunnelProtocol,
  );
  if (isSame) return;
  const route = { destination, gateway, index, metric, source: undefined, table: mainTable, protocol: tunnelProtocol };
  await netlink.setRoute(route, true);
}
