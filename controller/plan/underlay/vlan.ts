/** What Vlans are told. The VLAN itself is a port of each subnet's switch: there are no rows of a Vlan's own. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Vlan } from '../../state/objects.ts';
import { obstacleConditions } from '../conditions.ts';
import type { WantedCondition } from '../conditions.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../view.ts';

/** At most so many objects are named in a message. */
const named = 10;

/** `waits for the deletion of subnets a, b and 3 more` */
export function waitsFor(what: string, names: readonly string[]): Problem {
  const rest = names.length > named ? ` and ${names.length - named} more` : '';
  return { code: 'Deleting', message: `waits for the deletion of ${what} ${names.slice(0, named).join(', ')}${rest}` };
}

/** Subnets that name it, in force or not. */
export function subnetsOfVlan(view: View, vlan: string): readonly string[] {
  const names = [...view.subnets.values()].filter(({ spec }) => spec.vlan === vlan).map(({ name }) => name);
  return names.toSorted();
}

export function planVlanStatus(view: View, name: string): Readonly<Record<string, unknown>> {
  return { subnets: subnetsOfVlan(view, name), conflict: view.vlanVerdicts.get(name)?.isConflict ?? false };
}

export function planVlanConditions(view: View, vlan: Vlan): readonly WantedCondition[] {
  const subnets = vlan.isDeleting ? subnetsOfVlan(view, vlan.name) : [];
  const deletion = subnets.length === 0 ? undefined : waitsFor('subnets', subnets);
  return obstacleConditions(vlan.generation, view.vlanVerdicts.get(vlan.name)?.problem, deletion, 'VlanReady');
}

/** Keys: the Vlan. */
export const vlanFeature: Feature = {
  name: 'vlan',
  all: (view) => view.vlans.keys(),
  reads(change) {
    if (change.kind === 'vlans' || change.kind === 'vlanVerdicts') return [change.name];
    if (change.kind !== 'subnets') return [];
    const [was, is] = [change.before?.spec.vlan ?? '', change.after?.spec.vlan ?? ''];
    return was === is ? [] : [was, is].filter((name) => name !== '');
  },
};
