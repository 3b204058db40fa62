/**
 * Decides which server the leader of a database removes from its cluster. In: the leader's list, the plan, the reports. Out: at most one server.
 * Rules: only a server that belongs to no member of the plan or that lost its disk is removed; the live servers must remain a majority of the rest; a
 * live server is removed only once all members of the plan are in the cluster.
 */
import { raftAddress, type DatabaseName, type Scheme } from '../model/databases.ts';
import type { ListedServer, Server } from '../model/copy.ts';
import type { Plan } from '../model/plan.ts';
import type { Reports } from '../model/report.ts';

/** A leader sends several heartbeats in each election time. */
const silentMs = 5000;

export interface LeaderView {
  readonly name: DatabaseName;
  readonly scheme: Scheme;
  readonly plan: Plan;
  readonly server: Server;
  readonly reports: Reports;
}

export interface Removal {
  readonly server: ListedServer;
  readonly why: string;
}

/** Whether a leader has not heard from a server for some seconds of its term. */
export function isSilent(leader: Server, one: ListedServer): boolean {
  return !one.isSelf && (one.silentMs ?? leader.leadingMs ?? silentMs) >= silentMs;
}

export function planRemoval(view: LeaderView): Removal | undefined {
  const { name, plan, server, reports, scheme } = view;
  if (server.role !== 'leader' || !server.isConnected || plan.clusters[name] !== server.cid) return undefined;
  const wanted = new Map<string, string>();
  for (const [node, address] of Object.entries(plan.members)) wanted.set(raftAddress(scheme, name, address), node);
  const listed = new Set(server.servers.map(({ address }) => address));
  const isComplete = wanted.keys().every((address) => listed.has(address));

  const lost = server.servers.find(({ sid }) => reports.values().some(({ databases }) => databases[name].lost === sid));
  if (lost !== undefined && isSafe(server, lost)) return { server: lost, why: 'its disk is lost' };
  const surplus = server.servers.filter(({ address }) => !wanted.has(address));
  // The leader's own server comes last: its removal needs a new leader.
  for (const one of surplus.toSorted((a, b) => rank(server, a) - rank(server, b)))
    if ((isSilent(server, one) || isComplete) && isSafe(server, one))
      return { server: one, why: 'no member of the plan has it' };
  return undefined;
}

function rank(leader: Server, one: ListedServer): number {
  if (one.isSelf) return 2;
  return isSilent(leader, one) ? 0 : 1;
}

/** Whether the other servers can continue without the removed server. */
function isSafe(leader: Server, removed: ListedServer): boolean {
  const rest = leader.servers.filter((server) => server !== removed);
  const alive = rest.filter((server) => !isSilent(leader, server));
  return rest.length > 0 && alive.length > rest.length / 2;
}
