/** What one node tells the others: its key `node.<name>` of the ConfigMap isthmus-ovn-central, written when it changes. */
import type { LogEnd } from './copy.ts';
import type { Both } from './databases.ts';

/** A server as the leader lists it. */
export interface ReportedServer {
  readonly sid: string;
  readonly address: string;
  /** The leader has not heard of it for some seconds. */
  readonly isSilent?: true;
}

export interface DatabaseReport {
  readonly model: 'none' | 'standalone' | 'clustered';
  readonly cid?: string;
  readonly sid?: string;
  /** Of raft, as the file has it. */
  readonly address?: string;
  /** No cluster took it in so far. */
  readonly joining?: true;
  readonly connected?: true;
  readonly role?: 'leader' | 'follower' | 'candidate';
  /** The last entry of its log. Only while no server has it open. */
  readonly end?: LogEnd;
  /** Of the leader only, as is what follows: of two that say they lead, the later one does. */
  readonly term?: number;
  readonly servers?: readonly ReportedServer[];
  /** Ids of servers that told of themselves as members of the leader's cluster, and are none. */
  readonly strangers?: readonly string[];
  /** The disk of this server of the leader's list is lost: the node that had it waits for it to be taken out. */
  readonly lost?: string;
}

export interface Report {
  readonly address: string;
  /** Of the plan that the node follows; 0 without one. */
  readonly generation: number;
  readonly databases: Both<DatabaseReport>;
  /** Its disk has hardly room for changes, or none for a database to be compacted, which is written anew beside the one that is there. */
  readonly isFull?: true;
  /** Times of its backups of the northbound database. */
  readonly backups: readonly string[];
  /** Those of them that there is a backup of the southbound database for. */
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

/** Whether a list has the server of this id, of which the list has the first digits. */
export function lists(servers: readonly { readonly sid: string; readonly address: string }[], sid: string): boolean {
  return servers.some((server) => sid.startsWith(server.sid));
}
