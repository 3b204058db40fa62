/**
 * Holders of exclusive things: chassis, tunnel addresses, ports, addresses and keys on the paths, prefixes. In: all
 * that a holder has, whenever it changes. Out: the other holder of a thing. The cost follows the size of the change.
 */
import { type Held, type PrefixClaim, holdsNothing, type Others, type HeldPrefix } from '../model/holdings.ts';
import { parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { PrefixTree } from './prefix-tree.ts';

export class Holdings {
  readonly #held = new Map<string, Held>();
  /** thing → holders */
  readonly #claims = new Map<string, string[]>();
  readonly #prefixes = new Map<string, PrefixTree>();
  readonly #learned = new Map<string, PrefixTree>();
  /** Changes with each prefix that is its holder's own. */
  revision = 0;

  set(holder: string, held: Held): void {
    const before = this.#held.get(holder) ?? holdsNothing;
    if (before === held) return;
    this.#held.set(holder, held);
    const [old, now] = [new Set(thingsOf(before)), new Set(thingsOf(held))];
    for (const thing of old) if (!now.has(thing)) this.#release(thing, holder);
    for (const thing of now) if (!old.has(thing)) this.#claim(thing, holder);
    const [oldPrefixes, newPrefixes] = [prefixesOf(before), prefixesOf(held)];
    for (const [key, prefix] of oldPrefixes) if (!newPrefixes.has(key)) this.#tree(prefix).remove(prefix.cidr, holder);
    for (const [key, prefix] of newPrefixes) if (!oldPrefixes.has(key)) this.#tree(prefix).add(prefix.cidr, holder);
  }

  delete(holder: string): void {
    this.set(holder, holdsNothing);
    this.#held.delete(holder);
  }

  /** Seen from one member. */
  others(cluster: string): Others {
    const other = (thing: string): string | undefined => this.#claims.get(thing)?.find((holder) => holder !== cluster);
    return {
      chassis: (name) => other(chassisThing(name)),
      encap: (key) => other(encapThing(key)),
      publicKey: (key) => other(publicKeyThing(key)),
      tunnelAddress: (address) => other(tunnelThing(address)),
      port: (logicalPort) => other(portThing(logicalPort)),
      hasAddress: (pathSwitch, address) => other(addressThing(pathSwitch, address)) !== undefined,
      hasKey: (pathSwitch, tunnelKey) => other(keyThing(pathSwitch, tunnelKey)) !== undefined,
      prefix: (network, cidr) => this.#prefixes.get(network)?.overlapping(cidr, (holder) => holder !== cluster),
      cover: (network, cidr) => this.#prefixes.get(network)?.covering(cidr, (holder) => holder !== cluster),
    };
  }

  /** Any prefix on any network that overlaps. */
  overlapAnywhere(cidr: Cidr): HeldPrefix | undefined {
    for (const tree of [...this.#prefixes.values(), ...this.#learned.values()]) {
      const found = tree.overlapping(cidr, () => true);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #claim(thing: string, holder: string): void {
    const holders = this.#claims.get(thing);
    if (holders === undefined) this.#claims.set(thing, [holder]);
    else holders.push(holder);
  }

  #release(thing: string, holder: string): void {
    const holders = (this.#claims.get(thing) ?? []).filter((other) => other !== holder);
    if (holders.length === 0) this.#claims.delete(thing);
    else this.#claims.set(thing, holders);
  }

  /** To add a prefix to, or to remove it from. */
  #tree({ network, isLearned }: ParsedClaim): PrefixTree {
    if (!isLearned) this.revision += 1;
    const trees = isLearned ? this.#learned : this.#prefixes;
    const tree = trees.get(network) ?? new PrefixTree();
    trees.set(network, tree);
    return tree;
  }
}

function thingsOf({ chassis, encaps, publicKeys, tunnelAddresses, ports }: Held): readonly string[] {
  return [
    ...chassis.map(chassisThing),
    ...encaps.map(encapThing),
    ...publicKeys.map(publicKeyThing),
    ...tunnelAddresses.map(tunnelThing),
    ...ports.flatMap((port) => [
      portThing(port.logicalPort),
      keyThing(port.switch, port.tunnelKey),
      ...port.networks.map((network) => addressThing(port.switch, network.split('/')[0] ?? '')),
    ]),
  ];
}

type ParsedClaim = Omit<PrefixClaim, 'cidr'> & { readonly cidr: Cidr };

function prefixesOf({ prefixes }: Held): ReadonlyMap<string, ParsedClaim> {
  const found = new Map<string, ParsedClaim>();
  for (const { network, cidr: text, isLearned } of prefixes) {
    const cidr = parseCidr(text);
    if (cidr !== undefined) found.set(`${network} ${text} ${isLearned}`, { network, cidr, isLearned });
  }
  return found;
}

const chassisThing = (name: string): string => `chassis ${name}`;
const encapThing = (key: string): string => `encap ${key}`;
const publicKeyThing = (key: string): string => `public-key ${key}`;
const tunnelThing = (address: string): string => `tunnel ${address}`;
const portThing = (logicalPort: string): string => `port ${logicalPort}`;
const addressThing = (pathSwitch: string, address: string): string => `address ${pathSwitch} ${address}`;
const keyThing = (pathSwitch: string, tunnelKey: number): string => `key ${pathSwitch} ${tunnelKey}`;
