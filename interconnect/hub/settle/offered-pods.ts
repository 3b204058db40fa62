/**
 * The sets of addresses that one member sends, and those that the hub passes on. In: its reports, its own prefixes. Out: accepted sets, the names of those that
 * changed, rejections. Pure. Others see only addresses within prefixes that are the member's own, so that it can put no address of another cluster into a set.
 */
import { formatIp, bitsOf, parseIp } from '../../../lib/net/ip.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { PrefixCover } from '../../../lib/net/prefix-cover.ts';
import type { Rejection } from '../../model/messages.ts';
import {
  changedPodSet,
  mostAddresses,
  mostAddressesOfMember,
  tooManyAddresses,
  type PodSet,
  type PodSetChange,
} from '../../model/pod-sets.ts';
import { legible } from './legible.ts';
import { Refusals } from './refusals.ts';

/** Addresses that a rejection names. */
const mostNamed = 5;
/** Characters of an IPv6 address. */
const longestAddress = 39;
const tooLong = `a text of more than ${longestAddress} characters`;
/** Characters of a reason. */
const longestReason = 63;

export class OfferedPods {
  #cluster: string;
  #cover = new PrefixCover();
  #prefixes = '';
  /** By address, until the prefixes change: most addresses of a large set are the same in its next change. */
  readonly #judged = new Map<string, boolean>();
  readonly #offers = new Map<string, PodSet>();
  readonly #accepted = new Map<string, PodSet>();
  readonly #refused = new Map<string, Rejection>();
  /** Sets that were not kept because of a limit, so that changes of them say nothing. */
  readonly #lost = new Set<string>();
  #changed = new Set<string>();
  #isRefusedAnew = false;
  #count = 0;

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  /** Sets as others see them. */
  get accepted(): ReadonlyMap<string, PodSet> {
    return this.#accepted;
  }
  /** Addresses of all sets, as offered. */
  get addressCount(): number {
    return this.#count;
  }
  get rejectionCount(): number {
    return this.#refused.size;
  }

  rejections(): readonly Rejection[] {
    const refusals = new Refusals();
    for (const one of this.#refused.values()) refusals.add(one);
    return refusals.list();
  }

  /** Whether the member is not to be asked for the set, which was too large. */
  isLost(id: string): boolean {
    return this.#lost.has(id);
  }

  /** Returns whether there are sets that can be asked for again. */
  retry(): boolean {
    const isNews = this.#lost.size > 0;
    this.#lost.clear();
    return isNews;
  }

  /** Sets of which others see something else since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  takeRefused(): boolean {
    const isRefusedAnew = this.#isRefusedAnew;
    this.#isRefusedAnew = false;
    return isRefusedAnew;
  }

  /** `asked`: sets that the member was asked for. It may send what it was asked for before. Returns whether it is to be asked for others now. */
  read(changes: readonly PodSetChange[], asked: ReadonlySet<string>): boolean {
    const lostBefore = this.#lost.size;
    const mentioned = new Set<string>();
    for (const change of changes) {
      // A set is mentioned once in a report: each mention costs a judgement of all its addresses.
      if (mentioned.has(change.id)) continue;
      mentioned.add(change.id);
      if (!asked.has(change.id) || this.#lost.has(change.id)) continue;
      const before = this.#offers.get(change.id);
      const after = changedPodSet(before, { ...change, added: change.added.map(bounded) });
      // A change that left before the member was asked anew: it sends the whole set, too.
      if (after === undefined) continue;
      this.#count -= before?.addresses.size ?? 0;
      const isTooMany =
        after.addresses.size > mostAddresses || this.#count + after.addresses.size > mostAddressesOfMember;
      if (isTooMany) this.#lost.add(change.id);
      const refusal = isTooMany ? tooManyAddresses : legible(after.refusal, longestReason);
      const offer: PodSet = { addresses: refusal === '' ? after.addresses : new Set(), refusal };
      this.#count += offer.addresses.size;
      this.#offers.set(change.id, offer);
      this.#accept(change.id);
    }
    return this.#lost.size !== lostBefore;
  }

  /** Forgets the sets that nobody wants any more. */
  keep(wanted: ReadonlySet<string>): void {
    for (const [id, { addresses }] of this.#offers) {
      if (wanted.has(id)) continue;
      this.#lost.delete(id);
      this.#count -= addresses.size;
      this.#offers.delete(id);
      this.#accept(id);
    }
  }

  /** Normalised CIDRs that are the member's own, on any network. */
  setPrefixes(cidrs: Iterable<string>): void {
    const prefixes = [...new Set(cidrs)].sort();
    if (prefixes.join() === this.#prefixes) return;
    this.#prefixes = prefixes.join();
    this.#cover = new PrefixCover();
    this.#judged.clear();
    for (const text of prefixes) {
      const cidr = parseCidr(text);
      if (cidr !== undefined) this.#cover.add(cidr, text);
    }
    for (const id of this.#offers.keys()) this.#accept(id);
  }

  rename(cluster: string): void {
    this.#cluster = cluster;
    for (const id of this.#offers.keys()) this.#accept(id);
  }

  #accept(id: string): void {
    const offer = this.#offers.get(id);
    const before = this.#accepted.get(id);
    if (offer === undefined) {
      this.#refuse(id, undefined);
      if (this.#accepted.delete(id)) this.#changed.add(id);
      return;
    }
    const foreign = [...offer.addresses].filter((address) => !this.#isOwn(address));
    this.#refuse(id, foreign.length === 0 ? undefined : this.#notOwn(id, foreign));
    const others = new Set(foreign);
    const after = foreign.length === 0 ? offer : { ...offer, addresses: offer.addresses.difference(others) };
    if (before !== undefined && isSame(before, after)) return;
    this.#accepted.set(id, after);
    this.#changed.add(id);
  }

  #refuse(id: string, rejection: Rejection | undefined): void {
    if (this.#refused.get(id)?.message === rejection?.message) return;
    this.#isRefusedAnew = true;
    if (rejection === undefined) this.#refused.delete(id);
    else this.#refused.set(id, rejection);
  }

  #isOwn(address: string): boolean {
    let isOwn = this.#judged.get(address);
    if (isOwn === undefined) {
      // Addresses that no set has any more.
      if (this.#judged.size >= 2 * mostAddressesOfMember) this.#judged.clear();
      isOwn = this.#judge(address);
      this.#judged.set(address, isOwn);
    }
    return isOwn;
  }

  #judge(address: string): boolean {
    const ip = parseIp(address);
    if (ip === undefined || formatIp(ip) !== address) return false;
    return this.#cover.coverOf({ family: ip.family, network: ip.value, prefix: bitsOf(ip.family) }) !== undefined;
  }

  #notOwn(id: string, addresses: readonly string[]): Rejection {
    const named = addresses.slice(0, mostNamed).map((one) => legible(one));
    const rest = addresses.length > mostNamed ? ` and ${addresses.length - mostNamed} more` : '';
    const message = `pods of ${this.#cluster} that others want have addresses outside of the prefixes that it offers, which are left out: ${named.join(', ')}${rest}`;
    return { kind: 'pods', value: id, code: 'AddressNotOffered', message, holder: '', transitSwitch: '' };
  }
}

/** What is no address is kept until it is taken back, so that its size counts. */
function bounded(address: string): string {
  return address.length > longestAddress ? tooLong : address;
}

function isSame(one: PodSet, other: PodSet): boolean {
  return one.refusal === other.refusal && one.addresses.symmetricDifference(other.addresses).size === 0;
}
