/** Creates, configures and removes the veth pairs of sandboxes: `create` and `remove` in the namespace of the node, `configure` in that of the pod. */
import type { Link } from '../../lib/netlink/link.ts';
import { type SeenPodLink, isHostInterfaceName, type PodInterface } from '../model/pod-interface.ts';
import { disableTransmitChecksum } from './ethtool.ts';
import type { Netns } from './netns.ts';
import { routeProtocol } from './rtnetlink-codec.ts';
import { mainTable } from './rtnetlink-codec.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { Rtnetlink } from './rtnetlink.ts';
import { hasIpv6, setSysctl } from './sysctl.ts';
import { familyOf } from '../../lib/net/ip.ts';

/** The pod or the node already has an interface of that name. */
export class LinkExists extends Error {
  readonly code = 'LinkExists';
}

const loopbackIndex = 1;

export class PodLinks {
  readonly #netlink: Rtnetlink;

  constructor(netlink: Rtnetlink) {
    this.#netlink = netlink;
  }

  /** Returns the host end, which is up. A failure leaves nothing behind. @throws LinkExists, NetlinkError */
  async create(wanted: PodInterface, netns: Netns): Promise<Link> {
    await this.#addVeth(wanted, netns);
    try {
      // The node itself does not use this link: it must have no address here, and accept no router advertisements of a pod.
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

  /** @throws LinkExists if the namespace has an interface of that name, NetlinkError */
  async refuseExisting(name: string, netns: Netns): Promise<void> {
    const inside = netns.run(() => new Rtnetlink());
    try {
      if ((await inside.findLink(name)) !== undefined)
        throw new LinkExists(`interface ${name} exists already in ${netns.path}`);
    } finally {
      inside.close();
    }
  }

  /** Configures the pod's end: sets lo and the interface up, adds addresses and routes. @throws NetlinkError */
  async configure(wanted: PodInterface, netns: Netns): Promise<void> {
    const inside = netns.run(() => new Rtnetlink());
    try {
      if (wanted.isChecksumFinished) disableTransmitChecksum(netns, wanted.name);
      netns.run(() => distrustNeighbours(wanted));
      if (wanted.addresses.some((address) => familyOf(address) === 6))
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

  /** The pod's end as the kernel has it; undefined if there is none of that name. @throws NetlinkError */
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

  /** The host end as the kernel has it. @throws NetlinkError */
  async inspectHost(name: string): Promise<Link | undefined> {
    return this.#netlink.findLink(name);
  }

  /** Names of all veth interfaces that this daemon named. @throws NetlinkError */
  async hostNames(): Promise<readonly string[]> {
    const links = await this.#netlink.links();
    return links.filter(({ kind, name }) => kind === 'veth' && isHostInterfaceName(name)).map(({ name }) => name);
  }

  /** Removes both ends; does nothing if they are gone. */
  async remove(hostName: string): Promise<void> {
    await this.#netlink.deleteLink(hostName);
  }
}

/** Addresses and routes come from ADD only; router advertisements count if the subnet sends them. To be called in the pod's namespace, before the interface is up. */
function distrustNeighbours({ name, acceptsRouterAdvertisements }: PodInterface): void {
  // For IPv4, either of the setting of the interface and that for all interfaces is enough (ip-sysctl.rst).
  for (const place of ['all', name]) setSysctl(`net/ipv4/conf/${place}/accept_redirects`, '0');
  if (!hasIpv6()) return;
  setSysctl(`net/ipv6/conf/${name}/accept_redirects`, '0');
  setSysctl(`net/ipv6/conf/${name}/accept_ra`, acceptsRouterAdvertisements ? '1' : '0');
}

function splitAddress(cidr: string): { readonly address: string; readonly prefix: number } {
  const [address = '', prefix] = cidr.split('/');
  return { address, prefix: Number(prefix) };
}
