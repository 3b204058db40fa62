/** The messages of `proto/hub/v1/hub.proto` about exported Services: immutable plain data, camelCase names. */
import type { ExportedService } from './exported-service.ts';
import type { Rejection } from './messages.ts';

/** A Service as it is now, with the endpoints that changed. */
export interface ExportChange extends ExportedService {
  /** It has no endpoints but `endpoints`. */
  readonly isWhole: boolean;
  /** All endpoints at each address of which one is new or changed. */
  readonly endpoints: ExportedService['endpoints'];
  /** Addresses at which it has no endpoint any more. */
  readonly removedAddresses: readonly string[];
}

/** What a member exports: the whole set first, in as many messages as it takes, then only changes. */
export interface ExportReport {
  /** Counts up within one session. */
  readonly revision: number;
  /** The first of a session. */
  readonly begins: boolean;
  /** All was sent: what the session has not mentioned is gone. */
  readonly isComplete: boolean;
  readonly changed: readonly ExportChange[];
  /** `namespace/name`. */
  readonly removed: readonly string[];
  readonly namespacesAdded: readonly string[];
  readonly namespacesRemoved: readonly string[];
}

/** Exports of one member in the namespaces of the receiver. */
export interface MemberExports {
  readonly member: string;
  readonly changed: readonly ExportChange[];
  /** `namespace/name`. */
  readonly removed: readonly string[];
}

/** The exports of the other members: the whole set first, in as many messages as it takes, then only changes. */
export interface ExportUpdate {
  /** Of the newest report that the hub has read; 0 before the first. */
  readonly revision: number;
  /** The first of a session. */
  readonly begins: boolean;
  /** Nothing waits to be sent: what the session has not mentioned is gone, except exports of expected members. */
  readonly isComplete: boolean;
  readonly members: readonly MemberExports[];
  /** With `begins`: members whose exports the hub does not know yet. */
  readonly expected: readonly string[];
  /** Members that are not expected any more. */
  readonly known: readonly string[];
  /** Exports of the receiver, `namespace/name`, that are to be sent whole. */
  readonly wanted: readonly string[];
  /** What the hub refused of the receiver's exports; null if that has not changed (as the wire has it). */
  readonly rejections: ExportRejections | null;
  /** Answers that are not what they were in this session. */
  readonly shared?: readonly SharedAnswer[];
}

/** The addresses that a Service of the receiver has in all clusters, or why it has none. */
export interface SharedAnswer {
  /** `namespace/name`. */
  readonly service: string;
  readonly addresses: readonly string[];
  /** Of the agreement, milliseconds since 1970; 0 without one. */
  readonly sinceMs: number;
  /** Other clusters that have these addresses too, sorted. */
  readonly clusters: readonly string[];
  /** Empty if nothing is wrong. */
  readonly code: string;
  readonly message: string;
}

export interface ExportRejections {
  /** A long list is cut, with one of code MoreRefused for the rest. */
  readonly rejections: readonly Rejection[];
  /** The rest, so that each export is known to be refused or not; absent or empty if all are listed. */
  readonly unlisted?: readonly UnlistedRejections[];
}

export interface UnlistedRejections {
  /** Of a rejection that is listed for another export. */
  readonly code: string;
  /** `namespace/name`. */
  readonly exports: readonly string[];
}

/** JSON characters of one message, which has fewer bytes: a message of this size delays others by milliseconds. More only if one export alone is longer. */
export const chunkSize = 256 * 1024;
