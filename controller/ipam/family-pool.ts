/**
 * Addresses of one family of one subnet. In: claims and releases by owner. Out: addresses, never one to two
 * owners. Called by `SubnetPool` only. Pure: the same calls give the same answers, and nothing enumerates a
 * network, so a /64 costs as much as a /30.
 */
import { IntervalSet } from '../../lib/net/interval-set.ts';
import { cidrContains, lastOf } from '../../lib/net/cidr.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Range } from '../../lib/net/range.ts';
import { FreeSet } from './free-set.ts';

/** What one family of a subnet consists of. */
export interface FamilyNet {
  readonly cidr: Cidr;
  readonly gateway: bigint;
  /** Not given by itself, but to whoever asks for the very address; the gateway to nobody. */
  readonly excluded: readonly Range[];
  /** Given to nobody, as the gateway. */
  readonly withheld?: readonly bigint[];
  /** Of nodes that are in the same LAN; given to nobody. */
  readonly foreign?: readonly bigint[];
}

/** Parts of a subnet that are given only to who names them: ranges by the IPPool's name. */
export type PoolRanges = ReadonlyMap<string, readonly Range[]>;

export type Refusal = 'AddressConflict' | 'AddressOutOfRange';

/** The part of the subnet that no IPPool has. */
const rest = '';

function excludedOf(net: FamilyNet): IntervalSet {
  const set = IntervalSet.of(net.gateway, net.gateway);
  for (const value of [...(net.withheld ?? []), ...(net.foreign ?? [])]) set.add(value);
  for (const range of net.excluded) if (range.family === net.cidr.family) set.add(range.first, range.last);
  return set;
}

/** Everything between the network and the broadcast address that is not excluded. */
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

  /** Addresses that may still be given, those of IPPools among them. */
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

  /** How many addresses an IPPool, or the subnet without its IPPools, may still give. */
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

  /** Takes over a changed definition; what is in use stays in use. */
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

  /** The lowest address never used; once those are gone, the lowest that was released. Undefined when full. */
  take(owner: string, pool: string = rest): bigint | undefined {
    const value = this.#free.get(pool)?.next();
    if (value !== undefined) this.#grant(owner, value);
    return value;
  }

  /** What would stand in the way of giving exactly this address. An owner may claim again what it has. */
  refusal(owner: string, value: bigint): Refusal | undefined {
    if (!this.#isHost(value)) return 'AddressOutOfRange';
    const holder = this.#owners.get(value);
    const { gateway, withheld = [], foreign = [] } = this.#net;
    const isWithheld = value === gateway || withheld.includes(value) || foreign.includes(value);
    return isWithheld || (holder !== undefined && holder !== owner) ? 'AddressConflict' : undefined;
  }

  /** Gives exactly this address, or says why not. */
  claim(owner: string, value: bigint): Refusal | undefined {
    const refusal = this.refusal(owner, value);
    if (refusal === undefined && !this.#owners.has(value)) this.#grant(owner, value);
    return refusal;
  }

  #isHost(value: bigint): boolean {
    const { cidr } = this.#net;
    return cidrContains(cidr, { family: cidr.family, value }) && value !== cidr.network && value !== lastOf(cidr);
  }

  /** The part of the subnet an address belongs to. */
  #partOf(value: bigint): string {
    for (const [name, part] of this.#parts) if (part.has(value)) return name;
    return rest;
  }

  #grant(owner: string, value: bigint): void {
    this.#free.get(this.#partOf(value))?.remove(value);
    this.#used.add(value);
    this.#owners.set(value, owner);
  }

  /** Gives an address back; one that is excluded is not handed out again. */
  release(value: bigint): void {
    if (!this.#owners.delete(value)) return;
    this.#used.remove(value);
    if (this.#isHost(value) && !excludedOf(this.#net).has(value)) this.#free.get(this.#partOf(value))?.putBack(value);
  }
}
