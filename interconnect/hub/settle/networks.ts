/**
 * The networks of this hub and their paths. In: definitions, those read back at start first. Out: rows of both IC
 * databases, one owner a path. A datapath that a foreign zone made first is taken as it is: both would be one switch.
 */
import type { FoundDatapath, Network, NetworkDefinition, NetworkPath } from '../model/record.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import { firstGlobalKey } from './allocation.ts';
import { settlePaths, type PathKeys } from './paths.ts';
import { planDatapath, planSwitch } from '../plan/rows.ts';
import { pathOwner } from '../model/owners.ts';

export interface PathTarget {
  set(owner: string, desired: Desired): void;
  drop(owner: string): void;
}

export interface NetworksOptions {
  /** The hub's own, by its flags. */
  readonly standard: NetworkDefinition;
  readonly northbound: PathTarget;
  readonly southbound: PathTarget;
  /** What IC-SB has for a switch. */
  readonly datapathOf: (pathSwitch: string) => FoundDatapath | undefined;
  readonly isKeyTaken: (tunnelKey: number) => boolean;
}

export class Networks {
  readonly standard: NetworkDefinition;
  readonly #options: NetworksOptions;
  readonly #networks = new Map<string, Network>();
  readonly #bySwitch = new Map<string, NetworkPath>();

  constructor(options: NetworksOptions) {
    this.#options = options;
    this.standard = options.standard;
  }

  get(name: string): Network | undefined {
    return this.#networks.get(name);
  }

  values(): MapIterator<Network> {
    return this.#networks.values();
  }

  path(pathSwitch: string): NetworkPath | undefined {
    return this.#bySwitch.get(pathSwitch);
  }

  /** Makes or changes a network. `present`: paths that it is known to have had. */
  put(definition: NetworkDefinition, present: readonly NetworkPath[] = []): void {
    const known = this.#networks.get(definition.name)?.switches ?? present;
    this.#set({ ...definition, switches: settlePaths(definition, known, this.#keys(definition.name)) });
  }

  /** A path that was to go is gone. */
  removePath(name: string, index: number): void {
    const network = this.#networks.get(name);
    if (network === undefined) return;
    this.#set({ ...network, switches: network.switches.filter((path) => path.index !== index || !path.retiring) });
  }

  remove(name: string): void {
    for (const { switch: pathSwitch } of this.#networks.get(name)?.switches ?? []) this.#drop(pathSwitch);
    this.#networks.delete(name);
  }

  /** The datapath of a switch changed. Returns the network where that changes it. */
  follow(pathSwitch: string): Network | undefined {
    const path = this.#bySwitch.get(pathSwitch);
    const network = path === undefined ? undefined : this.#networks.get(path.network);
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
    for (const { switch: pathSwitch } of this.#networks.get(network.name)?.switches ?? [])
      if (!network.switches.some((path) => path.switch === pathSwitch)) this.#drop(pathSwitch);
    this.#networks.set(network.name, network);
    const { northbound, southbound, datapathOf } = this.#options;
    for (const path of network.switches) {
      this.#bySwitch.set(path.switch, path);
      if (datapathOf(path.switch)?.isForeign === true) southbound.drop(pathOwner(path.switch));
      else southbound.set(pathOwner(path.switch), planDatapath(path));
      northbound.set(pathOwner(path.switch), planSwitch(network, path));
    }
  }

  #drop(pathSwitch: string): void {
    this.#bySwitch.delete(pathSwitch);
    this.#options.northbound.drop(pathOwner(pathSwitch));
    this.#options.southbound.drop(pathOwner(pathSwitch));
  }

  #keys(name: string): PathKeys {
    const { datapathOf, isKeyTaken } = this.#options;
    const isOurs = (key: number): boolean => this.#bySwitch.values().some((path) => path.tunnelKey === key);
    return {
      first: name === this.standard.name ? firstGlobalKey : undefined,
      found: (pathSwitch) => datapathOf(pathSwitch)?.tunnelKey,
      isTaken: (key) => isOurs(key) || isKeyTaken(key),
    };
  }
}
