/**
 * Which of this cluster's pods are in the sets that other clusters ask for. In: the sets, pods with their addresses, labels of namespaces, the prefixes that this
 * cluster offers, and what it shares. Out: the sets. A pod's change costs the sets that it is in. Pure except for its memory.
 */
import type { LabelSelector } from '../../../lib/api/kinds/shared.ts';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { entryOf } from '../../../lib/desired/entry-of.ts';
import { formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, parseIp } from '../../../lib/net/ip.ts';
import { PrefixCover } from '../../../lib/net/prefix-cover.ts';
import { readRemoteSelector } from '../../../lib/policies/remote-peers.ts';
import { policyLabels } from '../../../lib/policies/selection.ts';
import { selectorIndex, type Labels } from '../../../lib/store/selector-index.ts';
import { Store } from '../../../lib/store/store.ts';
import {
  mostAddresses,
  tooManyAddresses,
  type AskedSet,
  type PodAddress,
  type PodSet,
  type SharedPod,
} from '../../model/pod-sets.ts';

/** What this cluster shares with others. */
export interface Sharing {
  readonly isShared: boolean;
  /** Namespaces whose pods may be in sets. */
  readonly namespaces: LabelSelector;
}

/** A prefix that this cluster offers, of a VPC. */
export interface OfferedPrefix {
  readonly vpc: string;
  readonly cidr: string;
}

export interface PodSubnet {
  readonly vpc: string;
  readonly cidrs: readonly Cidr[];
}

/** Of a VPC that takes part: what is offered of it, and its subnets, offered or not. */
interface VpcCover {
  readonly offered: PrefixCover;
  readonly subnets: PrefixCover;
}

function newCover(): VpcCover {
  return { offered: new PrefixCover(), subnets: new PrefixCover() };
}

interface Member {
  readonly ids: ReadonlySet<string>;
  readonly addresses: readonly string[];
}

/** Code of a refusal: this cluster shares no pods. */
export const notShared = 'NotShared';

const nobody: Member = { ids: new Set(), addresses: [] };

export class SelectedPods {
  readonly #asked = new Store<LabelSelector>();
  readonly #selectors = selectorIndex(this.#asked, (selector) => [selector]);
  readonly #pods = new Map<string, SharedPod>();
  readonly #byNamespace = new Map<string, Set<string>>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #members = new Map<string, Member>();
  /** By set: how many pods have each address. */
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #dirty = new Set<string>();
  #sets = new Map<string, PodSet>();
  #offers: ReadonlyMap<string, VpcCover> = new Map();
  #vpcOf: ReadonlyMap<string, string> = new Map();
  #offersText = '';
  #sharing: Sharing = { isShared: false, namespaces: {} };
  #sharingText = '';

  /** The sets as they are now. Equal sets stay the same object. */
  sets(): ReadonlyMap<string, PodSet> {
    for (const id of this.#dirty) {
      if (this.#asked.has(id)) this.#sets.set(id, this.#setOf(id));
      else this.#sets.delete(id);
    }
    if (this.#dirty.size > 0) this.#sets = new Map(this.#sets);
    this.#dirty.clear();
    return this.#sets;
  }

  get isChanged(): boolean {
    return this.#dirty.size > 0;
  }

  /** Sets whose selector is none are not answered: only a hub that does not judge them passes them on. */
  setAsked(sets: readonly AskedSet[]): void {
    const asked = new Map(
      sets.flatMap(({ id, selector }) => {
        const read = readRemoteSelector(id, selector);
        return read === undefined ? [] : [[id, read] as const];
      }),
    );
    const removed = new Set(this.#asked.keys()).difference(asked);
    for (const id of removed) {
      this.#asked.delete(id);
      this.#counts.delete(id);
      this.#dirty.add(id);
    }
    // It may be asked for again.
    for (const [key, { ids, addresses }] of removed.size > 0 ? this.#members : [])
      if (!ids.isDisjointFrom(removed)) this.#members.set(key, { ids: ids.difference(removed), addresses });
    const added = [...asked].filter(([id]) => !this.#asked.has(id));
    for (const [id, selector] of added) {
      this.#asked.set(id, selector);
      this.#dirty.add(id);
    }
    if (added.length > 0) for (const key of this.#pods.keys()) this.#place(key);
  }

  setPod(key: string, pod: SharedPod | undefined): void {
    const before = this.#pods.get(key);
    if (before !== undefined) this.#byNamespace.get(before.namespace)?.delete(key);
    if (pod === undefined) this.#pods.delete(key);
    else {
      this.#pods.set(key, pod);
      this.#byNamespace.set(pod.namespace, (this.#byNamespace.get(pod.namespace) ?? new Set<string>()).add(key));
    }
    this.#place(key);
  }

  /** Undefined: it is not known, so that its pods are in no set. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    for (const key of this.#byNamespace.get(name) ?? []) this.#place(key);
  }

  setSharing(sharing: Sharing): void {
    const text = JSON.stringify(sharing);
    if (text === this.#sharingText) return;
    this.#sharingText = text;
    this.#sharing = sharing;
    this.#placeAll();
  }

  /** @param prefixes normalised CIDRs that this cluster offers */
  setOffers(prefixes: readonly OfferedPrefix[], subnets: Iterable<readonly [string, PodSubnet]>): void {
    const all = [...subnets];
    const text = JSON.stringify([
      prefixes.map(({ vpc, cidr }) => `${vpc} ${cidr}`).sort(),
      all.map(([name, { vpc, cidrs }]) => [name, vpc, cidrs.map(formatCidr).join()].join(' ')).sort(),
    ]);
    if (text === this.#offersText) return;
    this.#offersText = text;
    const offers = new Map<string, VpcCover>();
    for (const { vpc, cidr: value } of prefixes) {
      const cidr = parseCidr(value);
      if (cidr !== undefined) entryOf(offers, vpc, newCover).offered.add(cidr, value);
    }
    for (const [name, { vpc, cidrs }] of all) for (const cidr of cidrs) offers.get(vpc)?.subnets.add(cidr, name);
    this.#offers = offers;
    this.#vpcOf = new Map(all.map(([name, { vpc }]) => [name, vpc]));
    this.#placeAll();
  }

  #placeAll(): void {
    for (const key of this.#pods.keys()) this.#place(key);
    for (const id of this.#asked.keys()) this.#dirty.add(id);
  }

  #place(key: string): void {
    const before = this.#members.get(key) ?? nobody;
    const after = this.#memberOf(this.#pods.get(key));
    for (const id of after.ids) for (const address of after.addresses) this.#count(id, address, 1);
    for (const id of before.ids) for (const address of before.addresses) this.#count(id, address, -1);
    if (after.ids.size > 0) this.#members.set(key, after);
    else this.#members.delete(key);
  }

  #memberOf(pod: SharedPod | undefined): Member {
    const namespace = pod && this.#namespaces.get(pod.namespace);
    if (pod === undefined || namespace === undefined || this.#asked.size === 0 || !this.#sharing.isShared)
      return nobody;
    if (!matchesSelector(this.#sharing.namespaces, namespace)) return nobody;
    const addresses = pod.addresses.flatMap((one) => (this.#isOffered(one) ? [one.address] : []));
    return addresses.length === 0 ? nobody : { ids: this.#selectors.matching(policyLabels(pod, namespace)), addresses };
  }

  /** Not if a VPC that is offered has the same address in a subnet of its own: there it is that of another pod, which the policies of others would let through. */
  #isOffered({ address, subnet }: PodAddress): boolean {
    const ip = parseIp(address);
    if (ip === undefined) return false;
    const cidr = { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
    const own = this.#vpcOf.get(subnet);
    let isOffered = false;
    for (const [vpc, { offered, subnets }] of this.#offers) {
      if (offered.coverOf(cidr) === undefined) continue;
      if (vpc !== own && subnets.coverOf(cidr) !== undefined) return false;
      isOffered = true;
    }
    return isOffered;
  }

  #count(id: string, address: string, step: 1 | -1): void {
    // The counts of a set that nobody asks for any more are gone.
    if (!this.#asked.has(id)) return;
    const counts = this.#counts.get(id) ?? new Map<string, number>();
    this.#counts.set(id, counts);
    const before = counts.get(address) ?? 0;
    const now = before + step;
    if (now > 0) counts.set(address, now);
    else counts.delete(address);
    if (now > 0 !== before > 0) this.#dirty.add(id);
  }

  #setOf(id: string): PodSet {
    const before = this.#sets.get(id);
    const counts = this.#counts.get(id);
    const isTooMany = (counts?.size ?? 0) > mostAddresses;
    const refusal = this.#sharing.isShared ? (isTooMany ? tooManyAddresses : '') : notShared;
    const addresses = new Set(refusal === '' ? counts?.keys() : []);
    const isSame = before?.refusal === refusal && before.addresses.symmetricDifference(addresses).size === 0;
    return isSame ? before : { addresses, refusal };
  }
}
