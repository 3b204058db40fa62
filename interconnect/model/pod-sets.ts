/** The messages of `proto/hub/v1/hub.proto` about pods that policies of other clusters name: immutable plain data, camelCase names. */
import type { Rejection } from './messages.ts';

/** A set of addresses that policies of a member ask for. */
export interface WantedSet {
  readonly id: string;
  /** Canonical text of its selector. */
  readonly selector: string;
  readonly clusters: readonly string[];
}

/** A set of addresses of one cluster. Never changed: another set is another object. */
export interface PodSet {
  /** Canonical. */
  readonly addresses: ReadonlySet<string>;
  /** Why the cluster does not share it; empty if it does. */
  readonly refusal: string;
}

export interface PodSetChange {
  readonly id: string;
  /** It has no addresses but `added`. */
  readonly isWhole: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly refusal: string;
}

export interface PodReport {
  /** Counts up within one session. */
  readonly revision: number;
  /** Null if it has not changed (as the wire has it). */
  readonly wanted: { readonly sets: readonly WantedSet[] } | null;
  readonly changed: readonly PodSetChange[];
}

export type AskedSet = Pick<WantedSet, 'id' | 'selector'>;

export interface MemberPods {
  readonly member: string;
  readonly changed: readonly PodSetChange[];
  readonly removed: readonly string[];
}

export interface PodUpdate {
  /** Of the newest report that the hub has read. */
  readonly revision: number;
  /** Null if it has not changed. */
  readonly asked: { readonly sets: readonly AskedSet[] } | null;
  readonly members: readonly MemberPods[];
  readonly rejections: { readonly rejections: readonly Rejection[] } | null;
}

/** An address as the controller allocated it. */
export interface PodAddress {
  /** Canonical. */
  readonly address: string;
  readonly subnet: string;
}

/** A pod with the network of the cluster. */
export interface SharedPod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly PodAddress[];
}

/** Sets that one member may want. */
export const mostWanted = 100;
/** Addresses of one set. */
export const mostAddresses = 10_000;
/** Addresses in all sets of one member. */
export const mostAddressesOfMember = 100_000;
/** Code of a refusal: the set has more addresses than a set may have. */
export const tooManyAddresses = 'TooManyAddresses';

/** What changed between two values of a set; undefined if nothing did. */
export function podSetChange(id: string, before: PodSet | undefined, after: PodSet): PodSetChange | undefined {
  const { addresses, refusal } = after;
  if (before === undefined) return { id, isWhole: true, added: [...addresses], removed: [], refusal };
  if (before === after) return undefined;
  const added = [...addresses].filter((one) => !before.addresses.has(one));
  const removed = [...before.addresses].filter((one) => !addresses.has(one));
  if (added.length + removed.length === 0 && before.refusal === refusal) return undefined;
  return { id, isWhole: false, added, removed, refusal };
}

/** The set after a change; undefined if the change builds on one that is not known. */
export function changedPodSet(before: PodSet | undefined, change: PodSetChange): PodSet | undefined {
  const { isWhole, added, removed, refusal } = change;
  if (isWhole) return { addresses: new Set(added), refusal };
  if (before === undefined) return undefined;
  const addresses = new Set(before.addresses);
  for (const one of removed) addresses.delete(one);
  for (const one of added) addresses.add(one);
  return { addresses, refusal };
}

/** Characters that a change has on the wire, about. */
export function sizeOfChange({ added, removed }: PodSetChange): number {
  return 40 + [...added, ...removed].reduce((sum, { length }) => sum + length + 2, 0);
}
