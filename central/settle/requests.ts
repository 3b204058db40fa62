/**
 * Answers an operator's requests, which are annotations of the ConfigMap isthmus-ovn-central: to continue with the copy of one node, or to restore a
 * backup. In: the annotations, the plan, the reports. Out: the plan of a new generation, or the reason for a refusal.
 */
import { databaseNames } from '../model/databases.ts';
import type { Plan, Source } from '../model/plan.ts';
import type { Report } from '../model/report.ts';
import { sourceOf } from './founding.ts';
import type { MembersView } from './view.ts';
import type { Requests } from '../model/central-map.ts';

/** What an operator can do if no majority is left. */
export const advice =
  'bring one of them back, or continue with the copy of one node by setting the annotation isthmus.network/recover: <node>';

export type Answer = { readonly plan: Plan; readonly message: string } | { readonly refused: string };

export function answerRequest(view: MembersView, { recover, restore }: Requests): Answer | undefined {
  if (recover !== undefined && restore !== undefined)
    return { refused: 'recover and restore are both requested: request only one of them' };
  if (recover !== undefined) return recoverFrom(view, recover);
  return restore === undefined ? undefined : restoreFrom(view, restore);
}

function recoverFrom(view: MembersView, node: string): Answer {
  const found = founderOf(view, node);
  if (typeof found === 'string') return { refused: `recover: ${found}` };
  const { model, cid } = found.databases.nb;
  if (model === 'none' || (model === 'clustered' && cid === undefined))
    return { refused: `recover: ${node} has no copy of the northbound database` };
  const from = { nb: sourceOf(found, 'nb'), sb: sourceOf(found, 'sb') };
  const plan = { ...next(view, node), from, clusters: {}, members: { [node]: found.address } };
  return { plan, message: `continues with the copy of ${node} as generation ${plan.generation}` };
}

function restoreFrom(view: MembersView, wish: string): Answer {
  const [node = '', time = '', ...rest] = wish.split('/');
  if (rest.length > 0 || time === '')
    return { refused: `restore: "${wish}" is not <node>/<time>, such as a1/20260131T000000Z` };
  const found = founderOf(view, node);
  if (typeof found === 'string') return { refused: `restore: ${found}` };
  if (!found.backups.includes(time))
    return {
      refused: `restore: ${node} has no backup nb-${time}.db; its backups are ${found.backups.join(', ') || 'none'}`,
    };
  const backup = (name: 'nb' | 'sb'): Source => ({ ...sourceOf(found, name), backup: time });
  const members = view.plan?.members ?? {};
  const kept = members[node] === undefined ? {} : members;
  // Without its own backup the southbound database stays: northd updates it, and chassis keep their rows.
  const cluster = view.plan?.clusters.sb;
  const hasCluster = cluster !== undefined && found.databases.sb.cid === cluster;
  const southbound = found.southbound.includes(time)
    ? { from: { sb: backup('sb') }, clusters: {} }
    : hasCluster
      ? { from: {}, clusters: { sb: cluster } }
      : { from: { sb: sourceOf(found, 'sb') }, clusters: {} };
  const plan: Plan = {
    ...next(view, node),
    from: { nb: backup('nb'), ...southbound.from },
    clusters: southbound.clusters,
    members: { ...kept, [node]: found.address },
  };
  const names = databaseNames.filter((name) => plan.from[name]?.backup !== undefined).join(' and ');
  return { plan, message: `restores ${names} of ${time} from ${node} as generation ${plan.generation}` };
}

function founderOf({ candidates, reports }: MembersView, node: string): Report | string {
  if (candidates.every(({ name }) => name !== node)) return `${node} is not a node that may serve the databases`;
  return reports.get(node) ?? `${node} has not reported`;
}

function next({ plan, reports }: MembersView, founder: string): { generation: number; founder: string } {
  const known = Math.max(plan?.generation ?? 0, ...reports.values().map(({ generation }) => generation));
  return { generation: known + 1, founder };
}
