/** Number of ports of the latest own changes that are remembered, because their messages may arrive late. */
const remembered = 64;

/** Netlink ports by which this daemon changes nftables, so that its own changes are told from those of other programs. */
export class OwnPorts {
  readonly #ports: number[] = [];

  note(port: number): void {
    this.#ports.splice(0, this.#ports.push(port) - remembered);
  }

  has(port: number): boolean {
    return this.#ports.includes(port);
  }
}
