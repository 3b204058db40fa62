import type { Rtnetlink } from './rtnetlink.ts';

/** The addresses of the node's interfaces, read again when the kernel reports a change; link-local ones are left out. */
export class NodeAddresses {
  readonly #netlink: Pick<Rtnetlink, 'addresses'>;
  #all: readonly string[] = [];

  constructor(netlink: Pick<Rtnetlink, 'addresses'>) {
    this.#netlink = netlink;
  }

  get all(): readonly string[] {
    return this.#all;
  }

  /** Whether they differ from what was known. @throws NetlinkError */
  async refresh(): Promise<boolean> {
    const now = [...new Set((await this.#netlink.addresses()).map(({ address }) => address))].toSorted();
    const isChanged = now.join() !== this.#all.join();
    this.#all = now;
    return isChanged;
  }
}
