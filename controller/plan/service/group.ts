import { ref } from '../../../lib/desired/row.ts';
import type { Contribution, Desired } from '../../../lib/desired/row.ts';
import { balancerGroup } from '../../../lib/services/balancer.ts';
import type { View } from '../../model/view.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { routers, routersReading } from '../vpc/router.ts';

/** The membership of load balancers in the group of a VPC. */
export function groupMembership(vpc: string, balancers: readonly string[]): Contribution {
  const values = balancers.map((key) => ref('Load_Balancer', key));
  return { table: 'Load_Balancer_Group', key: balancerGroup(vpc), column: 'load_balancer', values };
}

/** Load balancers of the router of a VPC, for clients outside. */
export function routerMembership(vpc: string, balancers: readonly string[]): Contribution {
  const values = balancers.map((key) => ref('Load_Balancer', key));
  return { table: 'Logical_Router', key: vpc, column: 'load_balancer', values };
}

/** The reference by which a switch has all load balancers of the group of its VPC. */
export function groupOfSwitch(vpc: string, subnet: string): Contribution {
  const values = [ref('Load_Balancer_Group', balancerGroup(vpc))];
  return { table: 'Logical_Switch', key: subnet, column: 'load_balancer_group', values };
}

function planGroup(view: View, vpc: string): Desired {
  if (!view.capabilities.loadBalancers || !hasRouter(view, vpc)) return nothing;
  const group = { table: 'Load_Balancer_Group', key: balancerGroup(vpc), columns: {}, collects: ['load_balancer'] };
  return { rows: [group] };
}

/** Keys: the VPC. */
export const serviceGroupFeature: Feature = {
  name: 'service-group',
  all: routers,
  reads: routersReading,
  plan: planGroup,
  statusOf: (vpc) => `vpc/${vpc}`,
};
