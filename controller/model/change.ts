import type { Kinds } from './objects.ts';
import type { Verdict, PoolVerdict, VlanVerdict } from './settled.ts';

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
