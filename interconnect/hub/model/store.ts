/** The store of the hub's memberships, and the stored parts of each. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import type { PathReport } from '../../model/messages.ts';
import type { AllocatedPort } from './record.ts';

/** The part of a HubMember that an administrator sets. */
export interface MemberSpec {
  readonly allowedPrefixes: readonly string[];
  readonly maxPrefixes: number;
  readonly maxExports: number;
  readonly maxEndpointsPerExport: number;
  /** Of exported Services; all when empty. */
  readonly allowedNamespaces: readonly string[];
}

/** Of a member that joins. */
export const usualLimits = {
  maxPrefixes: 10_000,
  maxExports: 1000,
  maxEndpointsPerExport: 1000,
  allowedNamespaces: [],
} as const;

/** Of a cluster that is no member, or whose HubMember cannot be read: it may offer nothing. */
export const noLimits: MemberSpec = {
  allowedPrefixes: [],
  maxPrefixes: 0,
  maxExports: 0,
  maxEndpointsPerExport: 0,
  allowedNamespaces: [],
};

/** The part of a HubMember that the hub writes when a cluster joins. */
export interface Membership {
  readonly cluster: string;
  /** Its name before the last rename; absent if it was never renamed. */
  readonly formerName?: string;
  /** SHA-256 of its public key, hex. */
  readonly fingerprint: string;
  /** Id of the token with which it joined. */
  readonly token: string;
  readonly joinedMs: number;
  /** Whether it is leaving; its rows may still exist. */
  readonly leaving: boolean;
}

export interface RedeemedToken {
  readonly id: string;
  readonly cluster: string;
  /** Handle of the member that the token renamed; absent if the handle is the name. */
  readonly handle?: string;
  readonly fingerprint: string;
  readonly expiresMs: number;
  /** Whether the membership that it created has ended. */
  readonly spent: boolean;
}

/** A member as the store has it. */
export interface StoredMember {
  readonly cluster: string;
  /** The name under which it first joined. It is the name of the HubMember, which no rename changes. */
  readonly handle: string;
  /** Distinguishes an object from a later one of the same name. */
  readonly uid: string;
  /** Unix milliseconds. */
  readonly createdMs: number;
  readonly spec: MemberSpec;
  /** Undefined: the object exists, but no cluster has joined with it yet. */
  readonly membership: Membership | undefined;
  readonly ports: readonly AllocatedPort[];
  /** Whether the hub has removed its rows, because it was away for longer than `--stale-after`. */
  readonly isStale: boolean;
}

/** The state of a member's session, for the status of its HubMember. */
export interface MemberPresence {
  readonly state: 'Connected' | 'Absent' | 'Stale';
  /** Unix milliseconds of the last contact with a member that is not connected; 0 if none is known. */
  readonly lastSeenMs: number;
}

/** Figures of a member, for the status of its HubMember. What is undefined is not known now: what is written stays. */
export interface MemberFigures {
  readonly prefixes: number | undefined;
  readonly exports: number | undefined;
  readonly rejections: number | undefined;
  /** Null: the member is of a release that does not report. */
  readonly report: PathReport | null | undefined;
}

/** What the status of a HubMember says, besides the membership. */
export interface StoredReport {
  readonly ports: readonly AllocatedPort[];
  readonly presence: MemberPresence;
  readonly figures: MemberFigures;
}

/** The store cannot be reached now. */
export class StoreUnavailable extends Error {
  readonly code = 'StoreUnavailable';
  override name = 'StoreUnavailable';
}

/** Stores memberships. A method that writes resolves once the value is stored. @throws StoreUnavailable from every method that returns a promise */
export interface HubStore {
  readonly authority: KeyAndCertificate;
  members(): Iterable<StoredMember>;
  /** Creates the HubMember if it does not exist; the spec of an existing one stays. */
  create(handle: string, spec: MemberSpec): Promise<StoredMember>;
  /** A rename consists of this one write. */
  setMembership(handle: string, membership: Membership): Promise<void>;
  remove(handle: string): Promise<void>;
  /** By id. */
  tokens(): Promise<ReadonlyMap<string, RedeemedToken>>;
  setTokens(tokens: readonly RedeemedToken[]): Promise<void>;
  /** Writes the newest report of each member, once the store can be reached. */
  report(handle: string, report: StoredReport): void;
  /** Reports why a HubMember admits no cluster; written as `report` is. */
  refuse(handle: string, problem: Problem): void;
  /** Calls the listener for every change of a HubMember, by any writer. */
  subscribe(listener: StoreListener): () => void;
}

/** `after` is undefined if the HubMember was deleted; `uid` is that of `after`, or of the deleted one. */
export type StoreListener = (handle: string, uid: string, after: StoredMember | undefined) => void;
