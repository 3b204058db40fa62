import { routerSwitchPort } from '../../../lib/api/names.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import { routeTableOf } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { isPhysical } from '../underlay/own-cidrs.ts';
import { routerAddresses } from '../underlay/router-addresses.ts';

function planRouteTable(view: View, subnet: string): Desired {
  const vpc = view.verdicts.get(subnet)?.vpc;
  const table = routeTableOf(view, subnet);
  if (vpc === undefined || table === '' || routerAddresses(view, subnet) === undefined) return nothing;
  const [port, entries] = [routerSwitchPort(vpc, subnet), { route_table: table }];
  return { rows: [], contributions: [{ table: 'Logical_Router_Port', key: port, column: 'options', entries }] };
}

/** Keys: the Subnet. */
export const routeTableFeature: Feature = {
  name: 'route-table',
  all: (view) => view.subnets.keys(),
  reads(change, view) {
    if (change.kind === 'usage' && isPhysical(view.verdicts.get(change.name))) return [change.name];
    if (change.kind === 'ports' && change.name.startsWith('u2o/')) return [change.name.slice('u2o/'.length)];
    return change.kind === 'subnets' || change.kind === 'verdicts' ? [change.name] : [];
  },
  plan: planRouteTable,
  statusOf: (subnet) => `subnet/${subnet}`,
};
