import type { Rtnetlink } from './rtnetlink.ts';

/** The addresses of the node's interfaces, without link-local ones, and the interface that has the tunnel address. */
export class NodeAddresses {
  readonly #netlink: Pick<Rtnetlink, 'addresses' | 'links'>;
  readonly #encapIp: string;
  readonly #listeners = new Set<() => void>();
  #all: readonly string[] = [];
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
    const isChanged = now.join() !== this.#all.join() || index !== this.#index;
    if (index !== this.#index) this.#encapLink = await this.#nameOf(index);
    this.#all = now;
    this.#index = index;
    if (isChanged) for (const listener of this.#listeners) listener();
  }

  async #nameOf(index: number | undefined): Promise<string | undefined> {
    if (index === undefined) return undefined;
    return (await this.#netlink.links()).find((link) => link.index === index)?.name;
  }
}
