/**
 * Addresses of one family of one subnet. In: claims and releases by owner. Out: addresses, never one to two
 * owners. Called by `SubnetPool` only. Pure: the same calls give the same answers, and nothing enumerates a
 * network, so a /64 costs as much as a /30.
 */
import { IntervalSet } from '../../lib/net/interval-set.ts';
import { cidrContains, lastOf } from '../../lib/net/cidr.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Range } from '../../lib/net/range.ts';

/** What one family of a subnet consists of. */
export interface FamilyNet {
  readonly cidr: Cidr;
  readonly gateway: bigint;
  /** Not given by itself, but to whoever asks for the very address; the gateway to nobody. */
  readonly excluded: readonly Range[];
}

export type Refusal = 'AddressConflict' | 'AddressOutOfRange';

function excludedOf(net: FamilyNet): IntervalSet {
  const set = IntervalSet.of(net.gateway, net.gateway);
  for (const range of net.excluded) if (range.family === net.cidr.family) set.add(range.first, range.last);
  return set;
}

/** Everything between the network and the broadcast address that is not excluded. */
function grantableOf(net: FamilyNet): IntervalSet {
  const set = IntervalSet.of(net.cidr.network + 1n, lastOf(net.cidr) - 1n);
  for (const { first, last } of excludedOf(net).intervals()) set.remove(first, last);
  return set;
}

export class FamilyPool {
  #net: FamilyNet;
  #fresh: IntervalSet;
  #released = new IntervalSet();
  #used = new IntervalSet();
  #owners = new Map<bigint, string>();

  constructor(net: FamilyNet) {
    this.#net = net;
    this.#fresh = grantableOf(net);
  }

  get net(): FamilyNet {
    return this.#net;
  }

  /** Addresses in use. */
  get used(): IntervalSet {
    return this.#used;
  }

  /** Addresses that may still be given. */
  get available(): IntervalSet {
    const set = this.#fresh.copy();
    for (const { first, last } of this.#released.intervals()) set.add(first, last);
    return set;
  }

  get availableCount(): bigint {
    return this.#fresh.count + this.#released.count;
  }

  owner(value: bigint): string | undefined {
    return this.#owners.get(value);
  }

  /** Takes over a changed definition; what is in use stays in use. */
  redefine(net: FamilyNet): void {
    const grantable = grantableOf(net);
    const released = new IntervalSet();
    for (const { first, last } of this.#released.intervals()) {
      const kept = grantable.copy();
      if (first > 0n) kept.remove(0n, first - 1n);
      kept.remove(last + 1n, lastOf(net.cidr) > last ? lastOf(net.cidr) : last);
      for (const part of kept.intervals()) released.add(part.first, part.last);
    }
    for (const set of [released, this.#used])
      for (const { first, last } of set.intervals()) grantable.remove(first, last);
    this.#net = net;
    this.#fresh = grantable;
    this.#released = released;
  }

  /** The lowest address never used; once those are gone, the lowest that was released. Undefined when full. */
  take(owner: string): bigint | undefined {
    if (this.#fresh.lowest === undefined) {
      this.#fresh = this.#released;
      this.#released = new IntervalSet();
    }
    const value = this.#fresh.lowest;
    if (value !== undefined) this.#grant(owner, value);
    return value;
  }

  /** Gives exactly this address, or says why not. An owner may claim again what it has. */
  claim(owner: string, value: bigint): Refusal | undefined {
    const { cidr, gateway } = this.#net;
    const isHost =
      cidrContains(cidr, { family: cidr.family, value }) && value !== cidr.network && value !== lastOf(cidr);
    if (!isHost) return 'AddressOutOfRange';
    const holder = this.#owners.get(value);
    if (value === gateway || (holder !== undefined && holder !== owner)) return 'AddressConflict';
    if (holder === undefined) this.#grant(owner, value);
    return undefined;
  }

  #grant(owner: string, value: bigint): void {
    this.#fresh.remove(value);
    this.#released.remove(value);
    this.#used.add(value);
    this.#owners.set(value, owner);
  }

  /** Gives an address back; one that is excluded is not handed out again. */
  release(value: bigint): void {
    if (!this.#owners.delete(value)) return;
    this.#used.remove(value);
    const { cidr } = this.#net;
    const isHost =
      cidrContains(cidr, { family: cidr.family, value }) && value !== cidr.network && value !== lastOf(cidr);
    if (isHost && !excludedOf(this.#net).has(value)) this.#released.add(value);
  }
}
