/**
 * Addresses of one family of one subnet. In: claims and releases by owner. Out: addresses, each with at most one
 * owner. Called by `SubnetPool` only. Pure: the same calls give the same answers. No code enumerates a network,
 * so a /64 costs as much as a /30.
 */
import { IntervalSet } from '../../lib/net/interval-set.ts';
import { cidrContains, lastOf } from '../../lib/net/cidr.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Range } from '../../lib/net/range.ts';
import { FreeSet } from './free-set.ts';

/** The network of one family of a subnet. */
export interface FamilyNet {
  readonly cidr: Cidr;
  readonly gateway: bigint;
  /** Allocated only to ports that request the very address. The gateway is never allocated. */
  readonly excluded: readonly Range[];
  /** Never allocated, like the gateway. */
  readonly withheld?: readonly bigint[];
  /** Addresses of nodes in the same LAN; never allocated. */
  readonly foreign?: readonly bigint[];
}

/** Parts of a subnet that are allocated only to ports that name the IPPool: ranges by the IPPool's name. */
export type PoolRanges = ReadonlyMap<string, readonly Range[]>;

export type Refusal = 'AddressConflict' | 'AddressOutOfRange';

/** The part of the subnet outside all IPPools. */
const rest = '';

function excludedOf(net: FamilyNet): IntervalSet {
  const set = IntervalSet.of(net.gateway, net.gateway);
  for (const value of [...(net.withheld ?? []), ...(net.foreign ?? [])]) set.add(value);
  for (const range of net.excluded) if (range.family === net.cidr.family) set.add(range.first, range.last);
  return set;
}

/** All addresses between the network and the broadcast address that are not excluded. */
function grantableOf(net: FamilyNet): IntervalSet {
  const set = IntervalSet.of(net.cidr.network + 1n, lastOf(net.cidr) - 1n);
  for (const { first, last } of excludedOf(net).intervals()) set.remove(first, last);
  return set;
}

function common(a: IntervalSet, b: IntervalSet): IntervalSet {
  const set = new IntervalSet();
  for (const one of a.intervals()) {
    for (const { first, last } of b.intervals()) {
      set.add(first > one.first ? first : one.first, last < one.last ? last : one.last);
    }
  }
  return set;
}

function without(a: IntervalSet, b: IntervalSet): IntervalSet {
  const set = a.copy();
  for (const { first, last } of b.intervals()) set.remove(first, last);
  return set;
}

export class FamilyPool {
  #net: FamilyNet;
  /** Addresses of each IPPool, free or not. */
  #parts = new Map<string, IntervalSet>();
  #free = new Map<string, FreeSet>();
  #used = new IntervalSet();
  #owners = new Map<bigint, string>();

  constructor(net: FamilyNet, pools: PoolRanges = new Map()) {
    this.#net = net;
    this.redefine(net, pools);
  }

  get net(): FamilyNet {
    return this.#net;
  }

  /** Addresses in use. */
  get used(): IntervalSet {
    return this.#used;
  }

  /** Free addresses, including those of IPPools. */
  get available(): IntervalSet {
    const set = new IntervalSet();
    for (const free of this.#free.values()) for (const { first, last } of free.all().intervals()) set.add(first, last);
    return set;
  }

  get availableCount(): bigint {
    let count = 0n;
    for (const free of this.#free.values()) count += free.count;
    return count;
  }

  /** Number of free addresses of an IPPool, or of the subnet without its IPPools. */
  availableIn(pool: string = rest): bigint {
    return this.#free.get(pool)?.count ?? 0n;
  }

  /** Whether an IPPool has no addresses here, free or not. */
  isEmpty(pool: string): boolean {
    return (this.#parts.get(pool)?.count ?? 0n) === 0n;
  }

  /** Addresses of an IPPool by use. */
  figures(pool: string): { readonly available: IntervalSet; readonly used: IntervalSet } {
    const part = this.#parts.get(pool) ?? new IntervalSet();
    return { available: this.#free.get(pool)?.all() ?? new IntervalSet(), used: common(part, this.#used) };
  }

  owner(value: bigint): string | undefined {
    return this.#owners.get(value);
  }

  /** Sets the definition. Addresses in use stay in use. */
  redefine(net: FamilyNet, pools: PoolRanges): void {
    let grantable = without(grantableOf(net), this.#used);
    const released = new IntervalSet();
    for (const free of this.#free.values())
      for (const { first, last } of common(free.released, grantable).intervals()) released.add(first, last);
    this.#net = net;
    this.#parts = new Map();
    this.#free = new Map();
    for (const [name, ranges] of pools) {
      const part = new IntervalSet();
      for (const { family, first, last } of ranges) if (family === net.cidr.family) part.add(first, last);
      this.#parts.set(name, part);
      const free = common(grantable, part);
      this.#free.set(name, new FreeSet(without(free, released), common(free, released)));
      grantable = without(grantable, part);
    }
    this.#free.set(rest, new FreeSet(without(grantable, released), common(grantable, released)));
  }

  /** Allocates the lowest address never used; if there is none, the lowest released one. Undefined when full. */
  take(owner: string, pool: string = rest): bigint | undefined {
    const value = this.#free.get(pool)?.next();
    if (value !== undefined) this.#grant(owner, value);
    return value;
  }

  /** Why exactly this address cannot be allocated. An owner may claim its own address again. */
  refusal(owner: string, value: bigint): Refusal | undefined {
    if (!this.#isHost(value)) return 'AddressOutOfRange';
    const holder = this.#owners.get(value);
    const { gateway, withheld = [], foreign = [] } = this.#net;
    const isWithheld = value === gateway || withheld.includes(value) || foreign.includes(value);
    return isWithheld || (holder !== undefined && holder !== owner) ? 'AddressConflict' : undefined;
  }

  /** Allocates exactly this address. @returns the refusal if it cannot be allocated */
  claim(owner: string, value: bigint): Refusal | undefined {
    const refusal = this.refusal(owner, value);
    if (refusal === undefined && !this.#owners.has(value)) this.#grant(owner, value);
    return refusal;
  }

  #isHost(value: bigint): boolean {
    const { cidr } = this.#net;
    return cidrContains(cidr, { family: cidr.family, value }) && value !== cidr.network && value !== lastOf(cidr);
  }

  /** The part of the subnet that contains the address. */
  #partOf(value: bigint): string {
    for (const [name, part] of this.#parts) if (part.has(value)) return name;
    return rest;
  }

  #grant(owner: string, value: bigint): void {
    this.#free.get(this.#partOf(value))?.remove(value);
    this.#used.add(value);
    this.#owners.set(value, owner);
  }

  /** Releases an address. An excluded address does not become free. */
  release(value: bigint): void {
    if (!this.#owners.delete(value)) return;
    this.#used.remove(value);
    if (this.#isHost(value) && !excludedOf(this.#net).has(value)) this.#free.get(this.#partOf(value))?.putBack(value);
  }
}
