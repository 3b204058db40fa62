/**
 * What a kind of object that may hold addresses has to say of itself. There is one file for each kind beside this one, and a line
 * in `registry.ts`; the allocator knows kinds by nothing else.
 */
import type { Change } from '../../../model/change.ts';
import type { Interface } from '../../../model/interfaces.ts';
import type { IpObject } from '../../../model/objects.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import type { PortRecord } from '../records.ts';

/** A port as records from before this process have it. */
export interface RecordedPort {
  /** What follows the prefix in the holder's key. */
  readonly name: string;
  readonly port: string;
  readonly record: PortRecord | undefined;
}

/** A port that outlives its pods, while none of them is there. */
export interface KeptPort {
  readonly name: string;
  readonly port: string;
  readonly record: PortRecord;
  readonly holder: string;
  readonly interface: Interface;
}

/** The fields of an IP object that say whose address it is. */
export type IpSubject = Pick<IpObject['spec'], 'podName' | 'namespace' | 'nodeName' | 'podType'>;

export interface HolderKind {
  /** First part of its keys: `pod` of `pod/default/web`. */
  readonly prefix: string;
  /** What keys go on with, for everything that may hold an address at a start. */
  all(view: View): Iterable<string>;
  /** What the keys go on with whose right to an address a change may give, end or alter. */
  concerns(change: Change, view: View): Iterable<string>;
  /** The object that has a right to ports now; absent for kinds that ask the allocator for nothing. */
  claimant?(view: View, name: string): Claimant | undefined;
  /** What is on record, in the order in which it is believed. `rows` are ports of the database, by name. */
  recorded?(view: View, rows: ReadonlyMap<string, PortRecord>): Iterable<RecordedPort>;
  /** Like `recorded`, for ports that use the address of another kind's, which must be restored first. */
  borrowed?(view: View, rows: ReadonlyMap<string, PortRecord>): Iterable<RecordedPort>;
  kept?(view: View): Iterable<KeptPort>;
  /** Whether a port stays with its holder (`statefulset/default/db`) while the object `name` is gone. */
  isKept?(view: View, holder: string, name: string): boolean;
  /** What its IP objects say; absent for kinds that have none of their own. */
  ipSubject?(view: View, name: string): IpSubject;
  /** Gets another address when its object asks for one. Pods must be made anew instead. */
  readonly followsRequest?: true;
  /** Gets an address of each family that its subnet gains. Pods must be made anew instead. */
  readonly followsSubnet?: true;
  /** What it asks for depends on claims of its kind that are settled before. */
  readonly asksByTurn?: true;
  /** An IP object that somebody keeps takes the address over when the holder goes. */
  readonly leavesReservation?: true;
  /** Which others look again when its ports change: all that wait for an address, or the choice of gateways. */
  readonly notifies?: 'waiting' | 'gateways';
}
