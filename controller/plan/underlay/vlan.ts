/** The status of Vlans. A VLAN is a port of the switch of each of its subnets: a Vlan has no rows of its own. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Vlan } from '../../model/objects.ts';
import { obstacleConditions } from '../conditions.ts';
import type { ObjectReport, WantedCondition } from '../report.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../../model/view.ts';
import { finalizersWhile } from '../finalizers.ts';
import { readinessEvents } from './report.ts';

/** At most so many objects are named in a message. */
const named = 10;

/** `waits for the deletion of subnets a, b and 3 more` */
export function waitsFor(what: string, names: readonly string[]): Problem {
  const rest = names.length > named ? ` and ${names.length - named} more` : '';
  return { code: 'Deleting', message: `waits for the deletion of ${what} ${names.slice(0, named).join(', ')}${rest}` };
}

/** Subnets that name it, in force or not. */
export function subnetsOfVlan(view: View, vlan: string): readonly string[] {
  return [...view.indexes.subnetsByVlan.of(vlan)].sort();
}

/** Subnets that are in the Vlan, and keep it from being deleted. */
export function subnetsIn(view: View, vlan: string): readonly string[] {
  const verdict = view.vlanVerdicts.get(vlan);
  return subnetsOfVlan(view, vlan).filter((name) => {
    const underlay = view.verdicts.get(name)?.net?.underlay;
    return underlay !== undefined && underlay.provider === verdict?.provider && underlay.vlan === verdict.id;
  });
}

function deletionOf(view: View, vlan: string): Problem {
  const subnets = subnetsIn(view, vlan);
  if (subnets.length > 0) return waitsFor('subnets', subnets);
  return { code: 'Deleting', message: 'the Vlan is being deleted, and accepts no more subnets' };
}

/** Why a Vlan that is to stay takes no further subnets. */
function closingOf(view: View, vlan: string): Problem | undefined {
  const closing = view.vlanVerdicts.get(vlan)?.closing;
  if (closing === undefined) return undefined;
  const message = `the Vlan ${closing.message}: subnets that are in this VLAN stay until they are deleted, others are refused; name another network in spec.provider`;
  return { code: closing.code, message };
}

export function planVlanStatus(view: View, name: string): Readonly<Record<string, unknown>> {
  return { subnets: subnetsOfVlan(view, name), conflict: view.vlanVerdicts.get(name)?.isConflict ?? false };
}

export function planVlanConditions(view: View, vlan: Vlan): readonly WantedCondition[] {
  const obstacle = vlan.isDeleting ? deletionOf(view, vlan.name) : closingOf(view, vlan.name);
  return obstacleConditions(vlan.generation, view.vlanVerdicts.get(vlan.name)?.problem, obstacle, 'VlanReady');
}

function reportVlan(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'vlans', name } as const;
  const vlan = view.vlans.get(name);
  if (vlan === undefined) return [{ object }];
  const conditions = planVlanConditions(view, vlan);
  const events = readinessEvents('Vlan', vlan, conditions);
  const finalizers = finalizersWhile(subnetsIn(view, name).length > 0, vlan);
  return [
    { object, finalizers, status: { fields: planVlanStatus(view, name), conditions, events, rateLimit: 'counts' } },
  ];
}

/** Keys: the Vlan. */
export const vlanFeature: Feature = {
  name: 'vlan',
  all: (view) => view.vlans.keys(),
  reads(change, view) {
    if (change.kind === 'verdicts') {
      const vlan = view.subnets.get(change.name)?.spec.vlan ?? '';
      return vlan === '' ? [] : [vlan];
    }
    if (change.kind === 'vlans' || change.kind === 'vlanVerdicts') return [change.name];
    if (change.kind !== 'subnets') return [];
    const [was, is] = [change.before?.spec.vlan ?? '', change.after?.spec.vlan ?? ''];
    return was === is ? [] : [was, is].filter((name) => name !== '');
  },
  report: reportVlan,
};
