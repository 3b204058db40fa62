/**
 * Decides which nodes serve the databases. In: the candidates, their reports, the present plan. Out: the next plan, and a message that says what it
 * waits for. Called by the holder of the Lease, any number of times: if nothing has to change, the result is the same plan. Rules: an odd number of
 * nodes serves; one member at a time is replaced or leaves, while the others are connected; without a majority nothing changes unless an operator
 * requests it.
 */
import { databaseNames, raftAddress } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import { leaderOf, type Report } from '../model/report.ts';
import { beginAnew, decideFounding, completeFounding } from './founding.ts';
import { advice } from './requests.ts';
import { moveScheme } from './scheme.ts';
import type { Candidate } from '../model/candidate.ts';
import type { Decision, MembersView } from './view.ts';

export function decideMembers(view: MembersView): Decision {
  if (view.plan === undefined) return found(view, 1);
  const plan = completeFounding(view.plan, view.reports, view.scheme);
  const missing = databaseNames.filter((name) => plan.clusters[name] === undefined);
  if (missing.length > 0) {
    const { founder, generation } = plan;
    const isHopeless = generation === 1 && view.candidates.every(({ name }) => name !== founder);
    if (isHopeless && missing.length === databaseNames.length) return found(view, generation + 1);
    return { plan, status: `waits for ${founder} to make ${missing.join(' and ')} of generation ${generation}` };
  }
  return moveScheme(view, plan) ?? moveSole(view, plan) ?? moveMember(view, plan) ?? choose(view, plan);
}

function found(view: MembersView, generation: number): Decision {
  const founding = decideFounding(view, generation);
  if (founding.plan === undefined) return founding;
  // The first plan already contains the other members: they join as soon as the databases are founded.
  return { ...founding, plan: grow(view, founding.plan) };
}

function grow(view: MembersView, plan: Plan): Plan {
  // The plan was restored from a cluster with more servers: missing members are added later.
  if (Object.keys(plan.members).length > 1) return plan;
  const newcomers = sparesOf(view, plan);
  const count = oddBelow(Math.min(target(view), 1 + newcomers.length));
  return withMembers(view, plan, [plan.founder, ...newcomers.slice(0, count - 1)]);
}

/** A sole member whose address changed begins a new cluster with the former rows, because there is no other member to join. */
function moveSole(view: MembersView, plan: Plan): Decision | undefined {
  const [node = '', ...others] = Object.keys(plan.members);
  const report = view.reports.get(node);
  if (others.length > 0 || report === undefined || report.address === plan.members[node]) return undefined;
  const isHere = databaseNames.every((name) => report.databases[name].cid === plan.clusters[name]);
  if (!isHere)
    return { plan, status: `${node} has another address, ${report.address}, and does not have the databases` };
  const moved = beginAnew(plan, node, report, { [node]: report.address });
  return { plan: moved, status: `${node} has the address ${report.address} now: its databases move to it` };
}

function moveMember(view: MembersView, plan: Plan): Decision | undefined {
  const names = Object.keys(plan.members);
  if (names.length === 1) return undefined;
  const moved = names.find((node) => {
    const address = view.reports.get(node)?.address;
    return address !== undefined && address !== plan.members[node];
  });
  if (moved === undefined) return undefined;
  const others = names.filter((node) => node !== moved);
  const away = others.filter((node) => !isConnected(view, plan, node));
  const address = view.reports.get(moved)?.address ?? '';
  if (away.length > 0)
    return { plan, status: `${moved} moves to ${address} once ${away.join(', ')} can be reached by the leader` };
  return { plan: { ...plan, members: { ...plan.members, [moved]: address } }, status: `${moved} moves to ${address}` };
}

function choose(view: MembersView, plan: Plan): Decision {
  const members = Object.keys(plan.members);
  const names = new Set(view.candidates.map(({ name }) => name));
  const isAway = (node: string): boolean => !isConnected(view, plan, node);
  const overdue = new Set(view.candidates.filter((node) => isOverdue(view, node)).map(({ name }) => name));
  const staying = members.filter((node) => names.has(node) && !overdue.has(node));
  // If there are too many members, the first of these stay.
  const order = [...staying].sort((a, b) => Number(isAway(a)) - Number(isAway(b)));
  const late = members.filter((node) => overdue.has(node));
  const pool = [...order, ...sparesOf(view, plan), ...late];
  if (pool.length === 0) return { plan, status: 'the Nodes of all members are gone; the plan stays unchanged' };
  const wanted = pool.slice(0, oddBelow(Math.min(target(view), pool.length)));
  const newcomers = wanted.filter((node) => plan.members[node] === undefined);
  const leavers = members.filter((node) => !wanted.includes(node));
  if (newcomers.length === 0 && leavers.length === 0) return { plan, status: explain(view, plan, members) };

  // A Node that is gone leaves before one that is only not Ready.
  const [leaver] = leavers.toSorted((a, b) => Number(names.has(a)) - Number(names.has(b)));
  const isFewer = leaver !== undefined && newcomers.length === 0;
  const surplus = isFewer ? surplusOf(view, plan) : [];
  if (surplus.length > 0) return { plan, status: `waits until ${surplus.join(', ')} has left the cluster` };
  const next = leaver === undefined ? wanted : replace(members, leaver, newcomers);
  const holdUp = members.filter((node) => next.includes(node) && isAway(node));
  if (holdUp.length > 0 && holdUp.length * 2 >= next.filter((node) => plan.members[node] !== undefined).length)
    return { plan, status: `${holdUp.join(', ')} cannot be reached by a leader, so no member changes; ${advice}` };
  const parts = [
    ...members.filter((node) => !next.includes(node)).map((node) => `${node} leaves`),
    ...next.filter((node) => plan.members[node] === undefined).map((node) => `${node} comes`),
  ];
  return { plan: withMembers(view, plan, next), status: parts.join(', ') };
}

function replace(members: readonly string[], leaver: string, newcomers: readonly string[]): readonly string[] {
  return [...members.filter((node) => node !== leaver), ...newcomers.slice(0, 1)];
}

/** Servers that leaders still list although their nodes have left the plan: they count for the majority. */
function surplusOf({ reports, scheme }: MembersView, { members, clusters }: Plan): readonly string[] {
  return databaseNames.flatMap((name) => {
    const wanted = new Set(Object.values(members).map((address) => raftAddress(scheme, name, address)));
    const listed = leaderOf(reports, name, clusters[name] ?? '')?.servers ?? [];
    return listed.flatMap(({ address }) => (wanted.has(address) ? [] : [address]));
  });
}

function explain(view: MembersView, plan: Plan, members: readonly string[]): string {
  const away = members.filter((node) => !isConnected(view, plan, node));
  const full = members.filter((node) => view.reports.get(node)?.isFull === true);
  const disks = full.length === 0 ? '' : `; the disk is nearly full on ${full.join(', ')}`;
  const count = `${members.length - away.length} of ${members.length} members serve${disks}`;
  if (away.length === 0) return count;
  const waits = `${count}; ${away.join(', ')} ${away.length > 1 ? 'are' : 'is'} not connected`;
  return away.length * 2 > members.length ? `${waits}; ${advice}` : waits;
}

/** Whether the leaders list the node's servers of both databases and hear from them. */
export function isConnected({ reports, scheme }: Pick<MembersView, 'reports' | 'scheme'>, plan: Plan, node: string) {
  const address = plan.members[node];
  if (address === undefined) return false;
  return databaseNames.every((name) => {
    const leader = leaderOf(reports, name, plan.clusters[name] ?? '');
    const own = raftAddress(scheme, name, address);
    return leader?.servers?.some((server) => server.address === own && server.isSilent === undefined) === true;
  });
}

function isOverdue({ nowMs, replaceAfterMs }: MembersView, { notReadySinceMs }: Candidate): boolean {
  return notReadySinceMs !== undefined && nowMs - notReadySinceMs >= replaceAfterMs;
}

/** Ready nodes that are not in the plan, the oldest first. */
function sparesOf(view: MembersView, plan: Plan): readonly string[] {
  return view.candidates
    .filter(({ name, notReadySinceMs }) => notReadySinceMs === undefined && plan.members[name] === undefined)
    .filter(({ name }) => view.reports.has(name))
    .toSorted((a, b) => a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name);
}

function target({ replicas, candidates }: MembersView): number {
  const wish = replicas === 'auto' ? 3 : replicas;
  return oddBelow(Math.min(wish, Math.max(1, candidates.length)));
}

/** An even number of servers tolerates no more failures than one server less. */
function oddBelow(count: number): number {
  return count % 2 === 0 ? Math.max(1, count - 1) : count;
}

function withMembers({ reports }: MembersView, plan: Plan, names: readonly string[]): Plan {
  const addresses = names.map((name): [string, string] => [
    name,
    plan.members[name] ?? (reports.get(name) as Report).address,
  ]);
  return { ...plan, members: Object.fromEntries(addresses.sort(([a], [b]) => (a < b ? -1 : 1))) };
}
