/**
 * The interface of a kind of claimant. Each kind has one file beside this one and a line in `registry.ts`. The allocator knows
 * kinds only by this interface.
 */
import type { Change } from '../../../model/change.ts';
import type { Interface } from '../../../model/interfaces.ts';
import type { IpObject } from '../../../model/objects.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import type { PortRecord } from '../records.ts';

/** A port on record from before this process started. */
export interface RecordedPort {
  /** The holder's key without the prefix. */
  readonly name: string;
  readonly port: string;
  readonly record: PortRecord | undefined;
}

/** A port that outlives its pods, while none of them exists. */
export interface KeptPort {
  readonly name: string;
  readonly port: string;
  readonly record: PortRecord;
  readonly holder: string;
  readonly interface: Interface;
}

/** The fields of an IP object that name the holder of the address. */
export type IpSubject = Pick<IpObject['spec'], 'podName' | 'namespace' | 'nodeName' | 'podType'>;

export interface HolderKind {
  /** First part of its keys: `pod` of `pod/default/web`. */
  readonly prefix: string;
  /** Keys, without the prefix, of all objects that may hold an address at a start. */
  all(view: View): Iterable<string>;
  /** Keys, without the prefix, of objects whose right to an address the change may grant, end or alter. */
  concerns(change: Change, view: View): Iterable<string>;
  /** The object that has a right to ports now. Absent for kinds that request no addresses. */
  claimant?(view: View, name: string): Claimant | undefined;
  /** Ports on record, in order of precedence. `rows` are the ports in the database, by name. */
  recorded?(view: View, rows: ReadonlyMap<string, PortRecord>): Iterable<RecordedPort>;
  /** Like `recorded`, for ports that share an address of another kind, which must be restored first. */
  borrowed?(view: View, rows: ReadonlyMap<string, PortRecord>): Iterable<RecordedPort>;
  kept?(view: View): Iterable<KeptPort>;
  /** Whether a port stays with its holder (`statefulset/default/db`) while the object `name` does not exist. */
  isKept?(view: View, holder: string, name: string): boolean;
  /** The subject of its IP objects. Absent for kinds without IP objects of their own. */
  ipSubject?(view: View, name: string): IpSubject;
  /** Gets another address when its object requests one. Pods must be recreated instead. */
  readonly followsRequest?: true;
  /** Gets an address of each family that its subnet gains. Pods must be recreated instead. */
  readonly followsSubnet?: true;
  /** Its request depends on claims of its kind that were settled before. */
  readonly requestsInTurn?: true;
  /** When the holder is removed, an IP object that a user keeps becomes the holder of the address. */
  readonly leavesReservation?: true;
  /** What is settled again when its ports change: all claimants that wait for an address, or the choice of gateways. */
  readonly notifies?: 'waiting' | 'gateways';
}
