import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf } from '../../lib/net/ip.ts';
import type { LinkNetwork } from '../model/host-network.ts';
import type { Address } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';

/** The addresses of the node's interfaces, without link-local ones, and the interface that has the tunnel address. */
export class NodeAddresses {
  readonly #netlink: Pick<Rtnetlink, 'addresses' | 'links'>;
  readonly #encapIp: string;
  readonly #listeners = new Set<() => void>();
  #all: readonly string[] = [];
  #networks: readonly LinkNetwork[] = [];
  /** Names of links with networks, by index. */
  #names: ReadonlyMap<number, string> = new Map();
  /** Index and name of the interface with the tunnel address. */
  #index: number | undefined;
  #encapLink: string | undefined;

  constructor(netlink: Pick<Rtnetlink, 'addresses' | 'links'>, encapIp: string) {
    this.#netlink = netlink;
    this.#encapIp = encapIp;
  }

  get all(): readonly string[] {
    return this.#all;
  }

  /** Networks on the links, without single addresses. */
  get networks(): readonly LinkNetwork[] {
    return this.#networks;
  }

  /** The interface that has the tunnel address; undefined if none has it. */
  get encapLink(): string | undefined {
    return this.#encapLink;
  }

  /** The same with its index. */
  get encap(): { readonly name: string; readonly index: number } | undefined {
    const [name, index] = [this.#encapLink, this.#index];
    return name === undefined || index === undefined ? undefined : { name, index };
  }

  /** Called after the addresses, or the interface with the tunnel address, have changed. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Reads them again; to be called after the kernel reported a change. @throws NetlinkError */
  async refresh(): Promise<void> {
    const addresses = await this.#netlink.addresses();
    const now = [...new Set(addresses.map(({ address }) => address))].toSorted();
    const index = addresses.find(({ address }) => address === this.#encapIp)?.index;
    const networks = await this.#networksOf(addresses);
    const isSame = JSON.stringify(networks) === JSON.stringify(this.#networks);
    const isChanged = now.join() !== this.#all.join() || index !== this.#index || !isSame;
    if (index !== this.#index) this.#encapLink = await this.#nameOf(index);
    this.#all = now;
    this.#networks = networks;
    this.#index = index;
    if (isChanged) for (const listener of this.#listeners) listener();
  }

  async #networksOf(addresses: readonly Address[]): Promise<readonly LinkNetwork[]> {
    const found = addresses.flatMap(({ index, address, prefix }) => {
      const cidr = parseCidr(`${address}/${prefix}`);
      return cidr === undefined || prefix === bitsOf(cidr.family) ? [] : [{ index, network: formatCidr(cidr) }];
    });
    // Pods come and go, and have no addresses here: links are only read when one of the node gets a network.
    if (found.some(({ index }) => !this.#names.has(index))) {
      const links = await this.#netlink.links();
      this.#names = new Map(links.map(({ index, name }) => [index, name]));
    }
    // One without a name was removed meanwhile.
    const texts = found.flatMap(({ index, network }) => {
      const name = this.#names.get(index);
      return name === undefined ? [] : [`${name} ${network}`];
    });
    return [...new Set(texts)].toSorted().map((text) => {
      const [link = '', network = ''] = text.split(' ');
      return { link, network };
    });
  }

  async #nameOf(index: number | undefined): Promise<string | undefined> {
    if (index === undefined) return undefined;
    return (await this.#netlink.links()).find((link) => link.index === index)?.name;
  }
}
