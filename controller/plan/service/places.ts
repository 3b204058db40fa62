/** Template variables: their values on the chassis of each node, by the place of its clients, and the rows that hold these values. */
import { annotation } from '../../../lib/api/names.ts';
import type { Contribution, Desired } from '../../../lib/desired/row.ts';
import type { Place } from '../../../lib/services/backends.ts';
import type { Change } from '../../model/change.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import type { BalancerVariable } from './balancers.ts';

/** The label of a Node that names its zone. */
const zoneLabel = 'topology.kubernetes.io/zone';

function chassisOf({ annotations }: Node): string {
  return annotations[annotation.chassis] ?? '';
}

function placeOf({ name, labels }: Node): Place {
  return { node: name, zone: labels[zoneLabel] ?? '' };
}

/** The values of the variables on the chassis of each node. A chassis without a value has no entry. */
export function valuesOnNodes(view: View, variables: readonly BalancerVariable[]): readonly Contribution[] {
  if (variables.length === 0) return [];
  const nodes = [...view.nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return nodes.flatMap((node): readonly Contribution[] => {
    const chassis = chassisOf(node);
    const place = placeOf(node);
    const values = variables
      .map(({ name, valueAt }) => [name, valueAt(place)] as const)
      .filter(([, value]) => value !== '');
    if (chassis === '' || values.length === 0) return [];
    const entries = Object.fromEntries(values);
    return [{ table: 'Chassis_Template_Var', key: chassis, column: 'variables', entries }];
  });
}

/** Whether the change affects the zone or the chassis of a node. */
export function isPlaceChange(change: Change): boolean {
  if (change.kind !== 'nodes') return false;
  const textOf = (node: Node | undefined): string =>
    node === undefined ? '' : `${chassisOf(node)} ${placeOf(node).zone}`;
  return textOf(change.before) !== textOf(change.after);
}

/** Services whose backends may differ between nodes. */
export function* placedServices({ indexes }: View): Generator<string> {
  yield* indexes.localServices.of('');
  yield* indexes.hintedSlicesByService.keys();
}

function planVariables(view: View, name: string): Desired {
  const node = view.nodes.get(name);
  const chassis = node === undefined ? '' : chassisOf(node);
  if (chassis === '' || !view.capabilities.loadBalancers) return nothing;
  const columns = { chassis, external_ids: vendorIds };
  return { rows: [{ table: 'Chassis_Template_Var', key: chassis, columns, collects: ['variables'] }] };
}

/** Keys: the Node. */
export const chassisVariablesFeature: Feature = {
  name: 'chassis-variables',
  all: (view) => view.nodes.keys(),
  reads: (change) => (change.kind === 'nodes' && isPlaceChange(change) ? [change.name] : []),
  plan: planVariables,
};
