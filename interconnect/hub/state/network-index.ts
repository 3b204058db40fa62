/** The networks of this hub, by name and by the logical switches of their paths. */
import type { Network, NetworkPath } from '../model/record.ts';

export class NetworkIndex {
  readonly #networks = new Map<string, Network>();
  readonly #bySwitch = new Map<string, NetworkPath>();

  get(name: string): Network | undefined {
    return this.#networks.get(name);
  }

  values(): MapIterator<Network> {
    return this.#networks.values();
  }

  path(pathSwitch: string): NetworkPath | undefined {
    return this.#bySwitch.get(pathSwitch);
  }

  hasKey(tunnelKey: number): boolean {
    return this.#bySwitch.values().some((path) => path.tunnelKey === tunnelKey);
  }

  /** Returns the switches that are no longer paths of the network. */
  set(network: Network): readonly string[] {
    const gone = this.#switchesOf(network.name).filter(
      (name) => !network.switches.some((path) => path.switch === name),
    );
    for (const name of gone) this.#bySwitch.delete(name);
    this.#networks.set(network.name, network);
    for (const path of network.switches) this.#bySwitch.set(path.switch, path);
    return gone;
  }

  /** Returns the switches that it had. */
  delete(name: string): readonly string[] {
    const gone = this.#switchesOf(name);
    for (const pathSwitch of gone) this.#bySwitch.delete(pathSwitch);
    this.#networks.delete(name);
    return gone;
  }

  #switchesOf(name: string): readonly string[] {
    return (this.#networks.get(name)?.switches ?? []).map((path) => path.switch);
  }
}
