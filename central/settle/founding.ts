/**
 * Begins a generation. In: the nodes that may serve, and their reports. Out: the first plan, or what it waits for; and the clusters' ids once the
 * founder has created them. Rules: an existing database is never created again while a node has a copy; a lost plan is restored from clusters that
 * still serve.
 */
import { databaseNames, raftAddress, type DatabaseName, type Scheme } from '../model/databases.ts';
import type { Plan, Source } from '../model/plan.ts';
import type { Report, Reports } from '../model/report.ts';
import type { Decision, MembersView } from './view.ts';

/** Maximum time that the first plan waits for nodes that have not reported. */
const patienceMs = 5000;

export function decideFounding(view: MembersView, generation: number): Decision {
  const { candidates, reports, nowMs, withoutPlanSinceMs } = view;
  const silent = candidates.filter(({ name }) => !reports.has(name)).map(({ name }) => name);
  const known = candidates.filter(({ name }) => reports.has(name)).map(({ name }) => name);
  if (known.length === 0) return { plan: undefined, status: 'no node that may serve has reported yet' };
  if (silent.length > 0 && nowMs - withoutPlanSinceMs < patienceMs)
    return { plan: undefined, status: `waits a few seconds for reports of ${silent.join(', ')}` };
  const [founder = ''] = known.toSorted((a, b) => {
    const [left, right] = [rank(reports.get(a)), rank(reports.get(b))];
    return right - left || (a < b ? -1 : 1);
  });
  const report = reports.get(founder) as Report;
  return { plan: firstPlan(view, founder, report, generation), status: `${founder} founds the databases` };
}

function firstPlan(view: MembersView, founder: string, report: Report, generation: number): Plan {
  const clusters: Partial<Record<DatabaseName, string>> = {};
  const from: Partial<Record<DatabaseName, Source>> = {};
  for (const name of databaseNames) {
    const { cid, address } = report.databases[name];
    if (cid !== undefined && address === raftAddress(view.scheme, name, report.address)) clusters[name] = cid;
    else from[name] = sourceOf(report, name);
  }
  const isAdopted = clusters.nb !== undefined && clusters.sb !== undefined;
  const members: Record<string, string> = { [founder]: report.address };
  // The plan was lost, but the clusters still exist.
  for (const { name } of view.candidates) {
    const other = view.reports.get(name);
    const isMember = databaseNames.every((db) => other?.databases[db].cid === clusters[db]);
    if (isAdopted && other !== undefined && isMember) members[name] = other.address;
  }
  const known = Math.max(...view.reports.values().map((each) => each.generation));
  return {
    generation: isAdopted ? Math.max(known, generation) : Math.max(known + 1, generation),
    founder,
    from,
    clusters,
    members: Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Clusters rank before databases of a former release, newer databases before older ones, a leader before its followers. */
function rank(report: Report | undefined): number {
  if (report === undefined) return -1;
  const { model, cid, role } = report.databases.nb;
  if (model === 'clustered' && cid !== undefined) return 2 + report.generation * 2 + (role === 'leader' ? 1 : 0);
  return model === 'standalone' ? 1 : 0;
}

/** The founder's own copy, from which the generation begins. */
export function sourceOf(report: Report, name: DatabaseName): Source {
  const { model, cid } = report.databases[name];
  // A server that has not joined a cluster has no rows.
  return { copy: model === 'clustered' ? (cid ?? 'none') : model };
}

/** The next generation, which this node creates from its own copies. */
export function beginAnew({ generation }: Plan, founder: string, report: Report, members: Plan['members']): Plan {
  const from = { nb: sourceOf(report, 'nb'), sb: sourceOf(report, 'sb') };
  return { generation: generation + 1, founder, from, clusters: {}, members };
}

/** The plan with the ids of clusters that its founder has created since. */
export function completeFounding(plan: Plan, reports: Reports, scheme: Scheme): Plan {
  const report = reports.get(plan.founder);
  if (report?.generation !== plan.generation) return plan;
  const made: Partial<Record<DatabaseName, string>> = {};
  for (const name of databaseNames) {
    const { cid, address, connected } = report.databases[name];
    const isMade = connected === true && cid !== undefined && cid !== plan.from[name]?.copy;
    const isHere = address === raftAddress(scheme, name, plan.members[plan.founder] ?? '');
    if (plan.clusters[name] === undefined && isMade && isHere) made[name] = cid;
  }
  return Object.keys(made).length === 0 ? plan : { ...plan, clusters: { ...plan.clusters, ...made } };
}
