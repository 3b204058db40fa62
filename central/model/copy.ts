/** A node's copy of a database: the file, and the state of its server. */

import type { Scheme } from './databases.ts';

/** A server of a raft cluster, as another server lists it. */
export interface ListedServer {
  /** The first digits of its id, as cluster/status shows them. */
  readonly sid: string;
  /** Raft address: `ssl:10.0.0.1:6643`. */
  readonly address: string;
  readonly isSelf: boolean;
  /** Time since the leader last heard from it; undefined if the leader has not heard from it during this term. */
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
  /** The server is the leader, or follows one. */
  readonly isConnected: boolean;
  readonly electionTimerMs: number;
  /** Time since the election of this server; undefined if it does not lead. */
  readonly leadingMs: number | undefined;
  readonly servers: readonly ListedServer[];
}

/**
 * The last entry of a member's log. Of two logs, the log with the later term, or with the higher index in the same term, holds what a majority agreed
 * on.
 */
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
      /** Undefined until a cluster has accepted the server. */
      readonly cid: string | undefined;
      /** The cluster that the server is joining. It accepts no other cluster, such as that of an earlier generation at the same addresses. */
      readonly joins?: string | undefined;
      /** Undefined while a server has it open. */
      readonly end?: LogEnd | undefined;
    };

export interface Copy {
  readonly file: DatabaseFile;
  /** Undefined while no server answers. */
  readonly server: Server | undefined;
  /** The server is running but has closed the database after a failed write, such as on a full disk. Only a new server process opens it again. */
  readonly isGivenUp?: boolean | undefined;
}

/** The contents of a file as a word of the instruction `create`: `none`, `standalone`, `joining` or the id of its cluster. */
export function tokenOf(file: DatabaseFile): string {
  if (file.model !== 'clustered') return file.model;
  return file.cid ?? 'joining';
}

/** Whether the copy belongs to a server that listens with the other scheme. */
export function waitsForScheme({ file }: Copy, scheme: Scheme): boolean {
  return file.model === 'clustered' && !file.address.startsWith(`${scheme}:`);
}

/** The backups that a restore can use. */
export interface Backups {
  readonly nb: readonly string[];
  readonly sb: readonly string[];
}
