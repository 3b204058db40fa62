/**
 * A feature: what Isthmus makes of some objects, cut into keys. In: the state. Out: for each key the rows it wants. Called
 * by `state/cluster.ts` (which keys does a change concern?) and by `apply/` (what are the rows of this key?). The rule
 * that must not be broken: whatever a plan reads, `reads` answers to when it changes.
 */
import type { Desired } from '../../lib/desired/row.ts';
import type { Kinds } from '../model/objects.ts';
import type { PoolVerdict } from '../settle/address/judge-pools.ts';
import type { Verdict } from '../settle/subnet/judge.ts';
import type { VlanVerdict } from '../settle/underlay/judge-vlans.ts';
import type { View } from '../model/view.ts';

interface Changed<K, T> {
  readonly kind: K;
  /** The object's name, or `namespace/name`. */
  readonly name: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export type ObjectChange = { [K in keyof Kinds]: Changed<K, Kinds[K]> }[keyof Kinds];

/** What can change under a plan: an object, or what the state has settled because of objects. */
export type Change =
  | ObjectChange
  /** What is in force of a Subnet. */
  | Changed<'verdicts', Verdict>
  /** What is in force of a Vlan. */
  | Changed<'vlanVerdicts', VlanVerdict>
  /** What is in force of an IPPool. */
  | Changed<'poolVerdicts', PoolVerdict>
  /** Which nodes a Subnet's centralized gateway leads through, or what keeps it from doing so. */
  | { readonly kind: 'gateways'; readonly name: string }
  /** Where a prefix leads that nodes learned by BGP, or why it does not; by the prefix. */
  | { readonly kind: 'learned'; readonly name: string }
  /** The ports of an object, by its key (`pod/default/web`, `node/n1`): addresses it got, lost or waits for. */
  | { readonly kind: 'ports'; readonly name: string }
  /** A port that lost its addresses, by its name. */
  | { readonly kind: 'freed'; readonly name: string }
  /** How many addresses of a Subnet are in use. */
  | { readonly kind: 'usage'; readonly name: string };

export interface Feature {
  /** First part of its keys. */
  readonly name: string;
  /** What its keys go on with, for everything there is: the full round. */
  all(view: View): Iterable<string>;
  /** What the keys go on with whose plans, or whose status, read what changed. */
  reads(change: Change, view: View): Iterable<string>;
  /** Rows and contributions of one key; absent where there is only a status to tell. */
  plan?(view: View, id: string): Desired;
}

export const nothing: Desired = { rows: [] };
