/** A node's copy of a database: the file, and the state of its server. */

import type { Scheme } from './databases.ts';

/** A server of a raft cluster as another one lists it. */
export interface ListedServer {
  /** The first digits of its id, as cluster/status shows them. */
  readonly sid: string;
  /** Of raft: `ssl:10.0.0.1:6643`. */
  readonly address: string;
  readonly isSelf: boolean;
  /** Time since the leader last heard from it; undefined if it has not since it leads. */
  readonly silentMs: number | undefined;
}

/** The state of a running server, as it reports it. */
export interface Server {
  readonly sid: string;
  /** Undefined before it has joined a cluster. */
  readonly cid: string | undefined;
  readonly address: string;
  readonly isJoining: boolean;
  readonly role: 'leader' | 'follower' | 'candidate';
  readonly term: number;
  /** It is the leader, or a member that follows one. */
  readonly isConnected: boolean;
  readonly electionTimerMs: number;
  /** Time since it was elected; undefined if it does not lead. */
  readonly leadingMs: number | undefined;
  readonly servers: readonly ListedServer[];
}

/** The last entry of a member's log. Of two logs the one with the later term, or the higher index, holds what a majority agreed on. */
export interface LogEnd {
  readonly term: number;
  readonly index: number;
}

export type DatabaseFile =
  | { readonly model: 'none' }
  | { readonly model: 'standalone' }
  | {
      readonly model: 'clustered';
      readonly sid: string;
      readonly address: string;
      /** Undefined before a cluster took it in. */
      readonly cid: string | undefined;
      /** The cluster that is to take it in: it answers to no other, such as one of a generation before at the same addresses. */
      readonly joins?: string | undefined;
      /** Undefined while a server has it open. */
      readonly end?: LogEnd | undefined;
    };

export interface Copy {
  readonly file: DatabaseFile;
  /** Undefined while none answers. */
  readonly server: Server | undefined;
  /** A server runs and has given the database up, since a write failed, as on a full disk. Only the next one opens it again. */
  readonly isGivenUp?: boolean | undefined;
}

/** What a file holds, in the words of the instruction `create`: `none`, `standalone`, `joining` or the id of its cluster. */
export function tokenOf(file: DatabaseFile): string {
  if (file.model !== 'clustered') return file.model;
  return file.cid ?? 'joining';
}

/** Whether it belongs to a server that listens by the other scheme. */
export function waitsForScheme({ file }: Copy, scheme: Scheme): boolean {
  return file.model === 'clustered' && !file.address.startsWith(`${scheme}:`);
}

/** What of the files is there for a restore. */
export interface Backups {
  readonly nb: readonly string[];
  readonly sb: readonly string[];
}
