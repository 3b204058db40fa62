/**
 * Which BFD states of tunnels count. An ovs-vswitchd that dies leaves its last `bfd_status` in the database; until its successor has
 * written a new one, the old state is stale.
 */
export class TunnelLiveness {
  /** Interfaces whose `bfd_status` an earlier ovs-vswitchd wrote. */
  readonly #stale = new Set<string>();
  #isSwitchDown = false;

  get isSwitchDown(): boolean {
    return this.#isSwitchDown;
  }

  isStale(tunnel: string): boolean {
    return this.#stale.has(tunnel);
  }

  /** `tunnels` are the names of the tunnels at that moment. Returns whether ovs-vswitchd went down or came back. */
  setSwitchDown(isDown: boolean, tunnels: () => Iterable<string>): boolean {
    if (isDown === this.#isSwitchDown) return false;
    this.#isSwitchDown = isDown;
    if (isDown) for (const tunnel of tunnels()) this.#stale.add(tunnel);
    return true;
  }

  /** ovs-vswitchd has written the state of this tunnel. */
  rewritten(tunnel: string): void {
    this.#stale.delete(tunnel);
  }

  /** From now on all states count. Returns whether one was stale. */
  trustAll(): boolean {
    const hadStale = this.#stale.size > 0;
    this.#stale.clear();
    return hadStale;
  }
}
