/**
 * The veth pair of one sandbox: made, configured, taken away. `create` and `remove` are the node's side,
 * `configure` the pod's.
 */
import type { Link } from '../../lib/netlink/link.ts';
import { type SeenPodLink, isHostInterfaceName, type PodInterface } from '../model/pod-interface.ts';
import { disableTransmitChecksum } from './ethtool.ts';
import type { Netns } from './netns.ts';
import { routeProtocol } from './network.ts';
import { mainTable } from './rtnetlink-codec.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { Rtnetlink } from './rtnetlink.ts';
import { hasIpv6, setSysctl } from './sysctl.ts';

/** An interface of that name is there already, in the pod or on the node. */
export class LinkExists extends Error {
  readonly code = 'LinkExists';
}

const loopbackIndex = 1;

export class PodLinks {
  readonly #netlink: Rtnetlink;

  constructor(netlink: Rtnetlink) {
    this.#netlink = netlink;
  }

  /** The node's end, up. What fails leaves nothing. @throws LinkExists, NetlinkError */
  async create(wanted: PodInterface, netns: Netns): Promise<Link> {
    await this.#addVeth(wanted, netns);
    try {
      // The node itself has no business on this wire: no address, no router advertisement from a pod.
      if (hasIpv6()) setSysctl(`net/ipv6/conf/${wanted.hostName}/disable_ipv6`, '1');
      const link = await this.#netlink.link(wanted.hostName);
      await this.#netlink.setLink(link.index, { isUp: true });
      return link;
    } catch (error) {
      await this.remove(wanted.hostName);
      throw error;
    }
  }

  async #addVeth(wanted: PodInterface, netns: Netns): Promise<void> {
    const veth = {
      name: wanted.hostName,
      mtu: wanted.mtu,
      peer: { name: wanted.name, mac: wanted.mac, netnsFd: netns.fd },
    };
    try {
      await this.#netlink.addVeth(veth);
    } catch (error) {
      if (!(error instanceof NetlinkError) || error.code !== 'EEXIST') throw error;
      const onNode = await this.#netlink.findLink(wanted.hostName);
      const where =
        onNode === undefined
          ? `${wanted.name} exists already in ${netns.path}`
          : `${wanted.hostName} exists already on the node`;
      throw new LinkExists(`interface ${where}`, { cause: error });
    }
  }

  /** @throws LinkExists where the namespace has an interface of that name, NetlinkError */
  async refuseExisting(name: string, netns: Netns): Promise<void> {
    const inside = netns.run(() => new Rtnetlink());
    try {
      if ((await inside.findLink(name)) !== undefined)
        throw new LinkExists(`interface ${name} exists already in ${netns.path}`);
    } finally {
      inside.close();
    }
  }

  /** The pod's end: lo and the interface up, addresses, routes. @throws NetlinkError */
  async configure(wanted: PodInterface, netns: Netns): Promise<void> {
    const inside = netns.run(() => new Rtnetlink());
    try {
      if (wanted.isChecksumFinished) disableTransmitChecksum(netns, wanted.name);
      netns.run(() => distrustNeighbours(wanted));
      if (wanted.addresses.some((address) => address.includes(':')))
        netns.run(() => setSysctl(`net/ipv6/conf/${wanted.name}/disable_ipv6`, '0'));
      const { index } = await inside.link(wanted.name);
      await Promise.all([inside.setLink(loopbackIndex, { isUp: true }), inside.setLink(index, { isUp: true })]);
      await Promise.all(wanted.addresses.map((cidr) => inside.addAddress({ index, ...splitAddress(cidr) })));
      await Promise.all(
        wanted.routes.map(({ destination, gateway, isReplacing }) => {
          const route = { destination, gateway, source: undefined, index, table: mainTable, protocol: routeProtocol };
          return inside.setRoute(route, isReplacing);
        }),
      );
    } finally {
      inside.close();
    }
  }

  /** The pod's end as it is; undefined where there is none of that name. @throws NetlinkError */
  async inspect(name: string, netns: Netns): Promise<SeenPodLink | undefined> {
    const inside = netns.run(() => new Rtnetlink());
    try {
      const link = await inside.findLink(name);
      if (link === undefined) return undefined;
      const addresses = (await inside.addresses()).filter(({ index }) => index === link.index);
      const routes = (await inside.routes()).filter(({ table }) => table === mainTable);
      return { ...link, addresses, routes };
    } finally {
      inside.close();
    }
  }

  /** The node's end as it is. @throws NetlinkError */
  async inspectHost(name: string): Promise<Link | undefined> {
    return this.#netlink.findLink(name);
  }

  /** Names of the node's ends of all veth pairs that are named as ours are. @throws NetlinkError */
  async hostNames(): Promise<readonly string[]> {
    const links = await this.#netlink.links();
    return links.filter(({ kind, name }) => kind === 'veth' && isHostInterfaceName(name)).map(({ name }) => name);
  }

  /** Both ends; nothing where they are gone. */
  async remove(hostName: string): Promise<void> {
    await this.#netlink.deleteLink(hostName);
  }
}

/** Addresses and routes are what ADD gives; to be called in the pod's namespace, before the interface is up. */
function distrustNeighbours({ name, acceptsRouterAdvertisements }: PodInterface): void {
  // Of IPv4 the interface's setting and that for all are joined by "or" (ip-sysctl.rst).
  for (const place of ['all', name]) setSysctl(`net/ipv4/conf/${place}/accept_redirects`, '0');
  if (!hasIpv6()) return;
  setSysctl(`net/ipv6/conf/${name}/accept_redirects`, '0');
  setSysctl(`net/ipv6/conf/${name}/accept_ra`, acceptsRouterAdvertisements ? '1' : '0');
}

function splitAddress(cidr: string): { readonly address: string; readonly prefix: number } {
  const [address = '', prefix] = cidr.split('/');
  return { address, prefix: Number(prefix) };
}
