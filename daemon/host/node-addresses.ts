import type { Rtnetlink } from './rtnetlink.ts';

/** The addresses of the node's interfaces, read again when the kernel reports a change; link-local ones are left out. */
export class NodeAddresses {
  readonly #netlink: Pick<Rtnetlink, 'addresses' | 'links'>;
  readonly #encapIp: string;
  #all: readonly string[] = [];
  /** Of the interface with the tunnel address. */
  #index: number | undefined;
  #encapLink: string | undefined;

  constructor(netlink: Pick<Rtnetlink, 'addresses' | 'links'>, encapIp: string) {
    this.#netlink = netlink;
    this.#encapIp = encapIp;
  }

  get all(): readonly string[] {
    return this.#all;
  }

  /** The interface that has the tunnel address; undefined where none has. */
  get encapLink(): string | undefined {
    return this.#encapLink;
  }

  /** The same, with its index. */
  get encap(): { readonly name: string; readonly index: number } | undefined {
    const [name, index] = [this.#encapLink, this.#index];
    return name === undefined || index === undefined ? undefined : { name, index };
  }

  /** Whether they, or the interface with the tunnel address, differ from what was known. @throws NetlinkError */
  async refresh(): Promise<boolean> {
    const addresses = await this.#netlink.addresses();
    const now = [...new Set(addresses.map(({ address }) => address))].toSorted();
    const index = addresses.find(({ address }) => address === this.#encapIp)?.index;
    const isChanged = now.join() !== this.#all.join() || index !== this.#index;
    if (index !== this.#index) this.#encapLink = await this.#nameOf(index);
    this.#all = now;
    this.#index = index;
    return isChanged;
  }

  async #nameOf(index: number | undefined): Promise<string | undefined> {
    if (index === undefined) return undefined;
    return (await this.#netlink.links()).find((link) => link.index === index)?.name;
  }
}
