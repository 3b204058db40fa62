/**
 * Moves the databases between TLS and plain TCP. In: the plan and the members' reports. Out: the plan of the next generation, or what it waits for.
 * Rules: a server that listens with the other scheme does not belong to the cluster, and waits; once all wait, one that a majority would elect begins
 * a new generation with its rows.
 */
import { databaseNames, type DatabaseName, type Scheme } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import { beginAnew } from './founding.ts';
import type { Decision, MembersView } from './view.ts';
import { advice } from './requests.ts';

/** @returns undefined if no member waits for the other scheme */
export function moveScheme({ reports, candidates, scheme }: MembersView, plan: Plan): Decision | undefined {
  const former: Scheme = scheme === 'ssl' ? 'tcp' : 'ssl';
  const members = Object.keys(plan.members);
  const hasFormer = (node: string): boolean =>
    databaseNames.every((name) => {
      const { cid, address } = reports.get(node)?.databases[name] ?? {};
      return cid === plan.clusters[name] && address?.startsWith(`${former}:`) === true;
    });
  const endOf = (node: string, name: DatabaseName) => reports.get(node)?.databases[name].end;
  const all = members.filter(hasFormer);
  const waiting = all.filter((node) => databaseNames.every((name) => endOf(node, name) !== undefined));
  if (waiting.length === 0) return undefined;
  const ready = new Set(candidates.filter((one) => one.notReadySinceMs === undefined).map(({ name }) => name));
  const late = all.filter((node) => !waiting.includes(node) && ready.has(node));
  if (late.length > 0) return { plan, status: `waits until ${late.join(', ')} listens by ${scheme}, too` };

  /** As in raft elections: a server votes for a candidate whose log ends at the same entry as its own, or later. */
  const votes = (node: string, name: DatabaseName): number => {
    const own = endOf(node, name) ?? { term: 0, index: 0 };
    return waiting.filter((voter) => {
      const { term, index } = endOf(voter, name) ?? own;
      return term < own.term || (term === own.term && index <= own.index);
    }).length;
  };
  const [founder] = waiting
    .filter((node) => databaseNames.every((name) => votes(node, name) * 2 > members.length))
    .toSorted((a, b) => votes(b, 'nb') + votes(b, 'sb') - votes(a, 'nb') - votes(a, 'sb'));
  const report = reports.get(founder ?? '');
  if (founder === undefined || report === undefined)
    return {
      plan,
      status: `no majority of ${members.join(', ')} is available to start again with ${scheme}; ${advice}`,
    };
  return {
    plan: beginAnew(plan, founder, report, { ...plan.members, [founder]: report.address }),
    status: `the databases change from ${former} to ${scheme}: ${founder} founds them again with its rows`,
  };
}
