/**
 * What Kubernetes should hold about a key, as values: features return reports beside their rows. `status/` compares them with
 * the observed objects and writes what differs. Rule: a report is a function of the view and the outcome alone.
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Kinds } from '../model/objects.ts';

/** An object by its kind and its key in the state: the name, or `namespace/name`. */
export interface ObjectRef {
  readonly kind: keyof Kinds;
  readonly name: string;
}

/** A condition without its times, which the writer sets. */
export type WantedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message' | 'observedGeneration'> & {
  /** For lists with one condition per type and node; empty for the object as a whole. */
  readonly node?: string;
};

export interface WantedEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** The object of the event, where it is not the report's. */
  readonly about?: ObjectRef;
  /** The object itself already shows it, for example since before a restart. */
  readonly isKnown?: boolean;
}

export interface StatusReport {
  /** Fields of the status; null removes one. Other fields stay as they are. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly conditions: readonly WantedCondition[];
  /** Types of conditions to remove from the object. */
  readonly absentConditions?: readonly string[];
  /** Whether other programs write this status too. It is then written only to the observed version, so that their entries are not lost. */
  readonly isShared?: true;
  /** Recorded once the status is written. */
  readonly events?: readonly WantedEvent[];
  /** Limits the rate of writes that change counts and no condition (`counts`), or of all writes (`all`). */
  readonly rateLimit?: 'counts' | 'all';
  /**
   * How the kind stores its status. `subresource` is the default. `object`: the kind has no status subresource. `metadata`: annotations and
   * conditions are one write, so that readers never see a condition without the annotations it is about.
   */
  readonly storage?: 'subresource' | 'object' | 'metadata';
}

/** What one object should hold. Parts that are absent stay as they are. An object that is gone is reported once more, so that the writer forgets it. */
export interface ObjectReport {
  readonly object: ObjectRef;
  /** `required`: created where it is absent. `forbidden`: deleted where it exists. */
  readonly presence?: 'required' | 'forbidden';
  /** Null removes an annotation. */
  readonly annotations?: Readonly<Record<string, string | null>>;
  /** Null removes a label. */
  readonly labels?: Readonly<Record<string, string | null>>;
  /** The whole list. */
  readonly finalizers?: readonly string[];
  /** Fields of the spec. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Fields of the spec that only a new object is given. */
  readonly initialSpec?: Readonly<Record<string, unknown>>;
  /** Recorded once the spec is written: changes to fields that its author set. */
  readonly corrections?: readonly WantedEvent[];
  readonly status?: StatusReport;
  /** Recorded when they were not in the last report of the key. */
  readonly events?: readonly WantedEvent[];
}

/** The rows that the northbound database has now. */
export interface AppliedRows {
  /** Whether a port exists, with exactly these addresses where they are given. */
  hasPort(name: string, addresses?: string): boolean;
  /** Whether a switch of this room exists. */
  hasSwitch(name: string): boolean;
  /** Whether a router of this room exists. */
  hasRouter(name: string): boolean;
  /** The uuid of the row of DHCP options with this key. */
  dhcpOptions(key: string): string | undefined;
}

/** What became of the rows of a key. */
export interface Outcome {
  /** Database errors for the key and for all keys whose status belongs to it, by key, in the order of `features.ts`. */
  readonly refusals: ReadonlyMap<string, Problem>;
  readonly rows: AppliedRows;
}

/** The first database error; undefined if all rows are as planned. */
export function refusalOf({ refusals }: Outcome): Problem | undefined {
  return refusals.values().next().value;
}
