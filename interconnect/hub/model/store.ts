/** The store of the hub's memberships, and the stored parts of each. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import type { AllocatedPort } from './record.ts';

/** The person's part of a member. */
export interface MemberSpec {
  readonly allowedPrefixes: readonly string[];
  readonly maxPrefixes: number;
}

/** The hub's part of a member. */
export interface Membership {
  readonly cluster: string;
  /** Its name before the last rename; absent where it was never renamed. */
  readonly formerName?: string;
  /** SHA-256 of its public key, hex. */
  readonly fingerprint: string;
  /** Id of the token it joined with. */
  readonly token: string;
  readonly joinedMs: number;
  /** It is leaving; its rows may still be there. */
  readonly leaving: boolean;
}

export interface RedeemedToken {
  readonly id: string;
  readonly cluster: string;
  /** Handle of the member that it renamed; absent where the handle is the name. */
  readonly handle?: string;
  readonly fingerprint: string;
  readonly expiresMs: number;
  /** The membership it made has ended. */
  readonly spent: boolean;
}

/** A member as the store has it. */
export interface StoredMember {
  readonly cluster: string;
  /** The name it first joined with: that of its object, which no rename changes. */
  readonly handle: string;
  /** Distinguishes an object from a later one of the same name. */
  readonly uid: string;
  /** Unix milliseconds. */
  readonly createdMs: number;
  readonly spec: MemberSpec;
  /** Undefined: the object exists, but no cluster has joined with it yet. */
  readonly membership: Membership | undefined;
  readonly ports: readonly AllocatedPort[];
  /** Whether it was given up as dead. */
  readonly isStale: boolean;
}

/** How a member is, for people to read. */
export interface MemberPresence {
  readonly state: 'Connected' | 'Absent' | 'Stale';
  /** Unix milliseconds of the last contact, where it is not connected; 0: none known. */
  readonly lastSeenMs: number;
}

/** The store cannot be reached now. */
export class StoreUnavailable extends Error {
  readonly code = 'StoreUnavailable';
  override name = 'StoreUnavailable';
}

/** Where memberships are kept. Methods that write resolve once it is kept. @throws StoreUnavailable, from all that return promises */
export interface HubStore {
  readonly authority: KeyAndCertificate;
  members(): Iterable<StoredMember>;
  /** Makes the object where it is missing; the spec of one that is there stays. */
  create(handle: string, spec: MemberSpec): Promise<StoredMember>;
  /** A rename is this one write. */
  setMembership(handle: string, membership: Membership): Promise<void>;
  remove(handle: string): Promise<void>;
  /** By id. */
  tokens(): Promise<ReadonlyMap<string, RedeemedToken>>;
  setTokens(tokens: readonly RedeemedToken[]): Promise<void>;
  /** Written when the store can be reached, the newest of each member. */
  report(handle: string, ports: readonly AllocatedPort[], presence: MemberPresence): void;
  /** Writes into the object why it makes no cluster a member. Written as reports are. */
  refuse(handle: string, problem: Problem): void;
  /** Calls the listener for every change of an object, by any writer. */
  subscribe(listener: StoreListener): () => void;
}

/** `after` is undefined where the object is gone; `uid` is that of `after`, or of the one that is gone. */
export type StoreListener = (handle: string, uid: string, after: StoredMember | undefined) => void;
