/**
 * Plans the report of a node: its copies; if its server leads, also the servers of the cluster and the members that the cluster does not list. Pure.
 */
import { both, type Both, type DatabaseName } from '../model/databases.ts';
import type { Backups, Copy } from '../model/copy.ts';
import { isSilent } from './servers.ts';
import { lists, type DatabaseReport, type Report, type Reports } from '../model/report.ts';

export interface ReportView {
  readonly address: string;
  readonly generation: number;
  readonly copies: Both<Copy>;
  /** Servers of lost disks that this node waits for. */
  readonly lost: Both<string | undefined>;
  readonly isFull: boolean;
  readonly backups: Backups;
  readonly reports: Reports;
}

export function planReport({ address, generation, copies, lost, isFull, backups, reports }: ReportView): Report {
  return {
    address,
    generation,
    databases: both((name) => renderDatabase(name, copies[name], lost[name], reports)),
    ...(isFull ? { isFull: true } : {}),
    backups: backups.nb,
    southbound: backups.sb.filter((time) => backups.nb.includes(time)),
  };
}

function renderDatabase(
  name: DatabaseName,
  { file, server }: Copy,
  lost: string | undefined,
  reports: Reports,
): DatabaseReport {
  const gone = lost === undefined ? {} : { lost };
  if (file.model !== 'clustered') return { model: file.model, ...gone };
  const { sid, cid, address, end } = file;
  return {
    model: 'clustered',
    ...(cid === undefined ? { joining: true } : { cid }),
    sid,
    address,
    ...(server?.isConnected === true ? { connected: true } : {}),
    ...(server === undefined ? {} : { role: server.role }),
    ...(server === undefined && end !== undefined ? { end } : {}),
    ...(server?.role === 'leader' && server.isConnected ? ofLeader(name, server, reports) : {}),
    ...gone,
  };
}

function ofLeader(name: DatabaseName, server: NonNullable<Copy['server']>, reports: Reports): Partial<DatabaseReport> {
  const strangers = reports
    .values()
    .map(({ databases }) => databases[name])
    .filter(({ cid, joining }) => cid === server.cid && joining === undefined)
    .map(({ sid }) => sid)
    .filter((sid) => sid !== undefined && !lists(server.servers, sid))
    .toArray() as string[];
  return {
    term: server.term,
    servers: server.servers
      .map((one) => ({
        sid: one.sid,
        address: one.address,
        ...(isSilent(server, one) ? { isSilent: true as const } : {}),
      }))
      .toSorted((a, b) => (a.address < b.address ? -1 : 1)),
    ...(strangers.length === 0 ? {} : { strangers: strangers.sort() }),
  };
}
