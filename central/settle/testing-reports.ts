/** Reports of nodes for tests of the plans: `a1` has the address 10.0.0.1, and so on. */
import { both, raftAddress, type DatabaseName } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import type { DatabaseReport, Report, ReportedServer } from '../model/report.ts';
import type { MembersView } from './view.ts';
import type { Candidate } from '../model/candidate.ts';

/** An id that begins with a letter of the database and ends with the number. */
export function idOf(name: DatabaseName, number: number, generation = 1): string {
  const start = `${name === 'nb' ? 'a' : 'b'}${generation}${number}0`;
  return `${start}0000-0000-4000-8000-00000000000${number}`;
}

export function cidOf(name: DatabaseName, generation = 1): string {
  return `${name === 'nb' ? 'a' : 'b'}0000000-0000-4000-8000-00000000000${generation}`;
}

export function addressOf(number: number): string {
  return `10.0.0.${number}`;
}

export function serverOf(name: DatabaseName, number: number): ReportedServer {
  return { sid: idOf(name, number).slice(0, 4), address: raftAddress('ssl', name, addressOf(number)) };
}

/** @param servers numbers of the servers that it leads; undefined: it follows */
export function member(number: number, servers?: readonly number[], silent: readonly number[] = []): Report {
  return {
    address: addressOf(number),
    generation: 1,
    databases: both((name): DatabaseReport => ({
      model: 'clustered',
      cid: cidOf(name),
      sid: idOf(name, number),
      address: raftAddress('ssl', name, addressOf(number)),
      connected: true,
      role: servers === undefined ? 'follower' : 'leader',
      ...(servers === undefined
        ? {}
        : {
            term: 1,
            servers: servers.map((one) => ({
              ...serverOf(name, one),
              ...(silent.includes(one) ? { isSilent: true as const } : {}),
            })),
          }),
    })),
    backups: [],
    southbound: [],
  };
}

export function empty(number: number, model: 'none' | 'standalone' = 'none'): Report {
  return {
    address: addressOf(number),
    generation: 0,
    databases: both(() => ({ model })),
    backups: [],
    southbound: [],
  };
}

export function planOf(...numbers: readonly number[]): Plan {
  return {
    generation: 1,
    founder: `a${numbers[0]}`,
    from: {},
    clusters: both((name) => cidOf(name)),
    members: Object.fromEntries(numbers.map((number) => [`a${number}`, addressOf(number)])),
  };
}

export function candidate(number: number, notReadySinceMs?: number): Candidate {
  return { name: `a${number}`, createdMs: number, notReadySinceMs };
}

/** A view at the time of one hour, with candidates that have reported. */
export function viewOf(reports: Readonly<Record<string, Report>>, more: Partial<MembersView> = {}): MembersView {
  return {
    scheme: 'ssl',
    replicas: 'auto',
    candidates: Object.keys(reports).map((name) => candidate(Number(name.slice(1)))),
    reports: new Map(Object.entries(reports)),
    plan: undefined,
    nowMs: 3_600_000,
    withoutPlanSinceMs: 3_600_000,
    replaceAfterMs: 300_000,
    ...more,
  };
}
