/** The report of one node to the others: its key `node.<name>` of the ConfigMap isthmus-ovn-central, written when it changes. */
import type { LogEnd } from './copy.ts';
import type { Both } from './databases.ts';

/** A server as the leader lists it. */
export interface ReportedServer {
  readonly sid: string;
  readonly address: string;
  /** The leader has not heard from the server for some seconds. */
  readonly isSilent?: true;
}

export interface DatabaseReport {
  readonly model: 'none' | 'standalone' | 'clustered';
  readonly cid?: string;
  readonly sid?: string;
  /** Raft address in the file. */
  readonly address?: string;
  /** The server has not joined a cluster yet. */
  readonly joining?: true;
  readonly connected?: true;
  readonly role?: 'leader' | 'follower' | 'candidate';
  /** The last entry of the log. Only while no server has the file open. */
  readonly end?: LogEnd;
  /** This field and those below are set by the leader only. If two servers claim to lead, the server with the later term leads. */
  readonly term?: number;
  readonly servers?: readonly ReportedServer[];
  /** Ids of servers that report to be members of the leader's cluster but that the leader does not list. */
  readonly strangers?: readonly string[];
  /** A server in the leader's list whose disk is lost: its node waits until the leader removes it from the cluster. */
  readonly lost?: string;
}

export interface Report {
  readonly address: string;
  /** Generation of the plan that the node follows; 0 without one. */
  readonly generation: number;
  readonly databases: Both<DatabaseReport>;
  /** The disk has hardly any space for changes, or too little to compact a database, which needs the space of a second file. */
  readonly isFull?: true;
  /** Times of its backups of the northbound database. */
  readonly backups: readonly string[];
  /** The times of `backups` that also have a backup of the southbound database. */
  readonly southbound: readonly string[];
}

export type Reports = ReadonlyMap<string, Report>;

/** The report of the node whose server leads the cluster of this id. */
export function leaderOf(reports: Reports, name: 'nb' | 'sb', cid: string): DatabaseReport | undefined {
  let found: DatabaseReport | undefined;
  for (const { databases } of reports.values()) {
    const report = databases[name];
    if (report.role !== 'leader' || report.cid !== cid || report.connected === undefined) continue;
    if (found === undefined || (report.term ?? 0) > (found.term ?? 0)) found = report;
  }
  return found;
}

/** Whether a list contains the server with this id; the list has only the first digits of ids. */
export function lists(servers: readonly { readonly sid: string; readonly address: string }[], sid: string): boolean {
  return servers.some((server) => sid.startsWith(server.sid));
}
