/**
 * Services for pods as clients. In: Services, EndpointSlices, the verdict on each Service, nodes. Out: load balancers in the group of the
 * VPC, the values of their template variables on each chassis, and router policies that drop packets for which a node has no endpoint.
 */
import type { Desired } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { balancerKey, balancerRow, balancersOf } from './balancers.ts';
import { groupMembership } from './group.ts';
import { localPolicy } from './local-policy.ts';
import { isPlaceChange, placedServices, valuesOnNodes } from './places.ts';
import { reportService } from './report.ts';

function planService(view: View, key: string): Desired {
  const service = view.services.get(key);
  const verdict = view.serviceVerdicts.get(key);
  if (service === undefined || verdict?.hasVpc !== true || !view.capabilities.loadBalancers) return nothing;
  const { vpc } = verdict;
  const balancers = balancersOf(view, service);
  if (balancers.length === 0) return nothing;
  const policies = balancers.flatMap(({ localVips }) => localVips.map((vip) => localPolicy(service, vpc, vip)));
  const keys = balancers.map((balancer) => balancerKey(service, balancer));
  const values = valuesOnNodes(
    view,
    balancers.flatMap(({ variables }) => variables),
  );
  return {
    rows: [...balancers.map((balancer) => balancerRow(view, service, balancer)), ...policies],
    contributions: [groupMembership(vpc, keys), ...values],
    createdMs: service.createdMs,
  };
}

/** Keys: `namespace/name` of the Service. */
export const serviceFeature: Feature = {
  name: 'service',
  all: (view) => view.services.keys(),
  *reads(change, view) {
    if (change.kind === 'services') yield change.name;
    else if (change.kind === 'serviceVerdicts' || change.kind === 'endpointSlices') {
      const slices = change.kind === 'endpointSlices' ? [change.before?.service, change.after?.service] : [change.name];
      // The Service of a SwitchLBRule may not exist yet, and nothing must be said about it.
      for (const name of slices) if (name !== undefined && view.services.has(name)) yield name;
    } else if (isPlaceChange(change)) yield* placedServices(view);
  },
  plan: planService,
  report: reportService,
};
