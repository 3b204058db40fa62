/**
 * The networks of this hub and their paths. In: definitions, those read back at start first. Out: networks whose paths keep
 * their keys, and an event for each that changed. A datapath that a foreign zone made first is taken as it is: both would be
 * one switch.
 */
import type { FoundDatapath, Network, NetworkDefinition, NetworkPath } from '../model/record.ts';
import { NetworkIndex } from '../state/network-index.ts';
import { firstGlobalKey } from './allocation.ts';
import { settlePaths, type PathKeys } from './paths.ts';

export interface NetworksOptions {
  /** The hub's own, by its flags. */
  readonly standard: NetworkDefinition;
  /** The datapath that IC-SB has for a switch. */
  readonly datapathOf: (pathSwitch: string) => FoundDatapath | undefined;
  readonly isKeyTaken: (tunnelKey: number) => boolean;
  /** A network was made, or may have other rows now. */
  readonly onNetwork: (network: Network) => void;
  /** A switch is no longer a path of any network. */
  readonly onGone: (pathSwitch: string) => void;
}

export class Networks {
  readonly standard: NetworkDefinition;
  readonly #options: NetworksOptions;
  readonly #index = new NetworkIndex();

  constructor(options: NetworksOptions) {
    this.#options = options;
    this.standard = options.standard;
  }

  get(name: string): Network | undefined {
    return this.#index.get(name);
  }

  values(): MapIterator<Network> {
    return this.#index.values();
  }

  path(pathSwitch: string): NetworkPath | undefined {
    return this.#index.path(pathSwitch);
  }

  /** Makes or changes a network. `present`: paths that it is known to have had. */
  put(definition: NetworkDefinition, present: readonly NetworkPath[] = []): void {
    const known = this.get(definition.name)?.switches ?? present;
    this.#set({ ...definition, switches: settlePaths(definition, known, this.#keys(definition.name)) });
  }

  /** The time of a retiring path is over. */
  removePath(name: string, index: number): void {
    const network = this.get(name);
    if (network === undefined) return;
    this.#set({ ...network, switches: network.switches.filter((path) => path.index !== index || !path.retiring) });
  }

  remove(name: string): void {
    for (const pathSwitch of this.#index.delete(name)) this.#options.onGone(pathSwitch);
  }

  /** The datapath of a switch changed. Returns the network where that changes it. */
  follow(pathSwitch: string): Network | undefined {
    const path = this.path(pathSwitch);
    const network = path === undefined ? undefined : this.get(path.network);
    if (path === undefined || network === undefined) return undefined;
    const tunnelKey = this.#options.datapathOf(pathSwitch)?.tunnelKey ?? path.tunnelKey;
    const isSame = tunnelKey === path.tunnelKey;
    const switches = isSame
      ? network.switches
      : network.switches.map((one) => (one.switch === pathSwitch ? { ...one, tunnelKey } : one));
    const followed = { ...network, switches };
    this.#set(followed);
    return isSame ? undefined : followed;
  }

  #set(network: Network): void {
    for (const pathSwitch of this.#index.set(network)) this.#options.onGone(pathSwitch);
    this.#options.onNetwork(network);
  }

  #keys(name: string): PathKeys {
    const { datapathOf, isKeyTaken } = this.#options;
    return {
      first: name === this.standard.name ? firstGlobalKey : undefined,
      found: (pathSwitch) => datapathOf(pathSwitch)?.tunnelKey,
      isTaken: (key) => this.#index.hasKey(key) || isKeyTaken(key),
    };
  }
}
