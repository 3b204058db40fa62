/** The addresses of a Service of type LoadBalancer, as its status has them, and the condition about them. */
import { loadBalancerReady, loadBalancerStatus } from '../../../lib/services/load-balancer.ts';
import type { LoadBalancer } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { failure } from '../events.ts';
import type { Feature } from '../feature.ts';
import type { ObjectReport, WantedCondition, WantedEvent } from '../report.ts';

function conditionOf({ ready }: LoadBalancer): readonly WantedCondition[] {
  if (ready === undefined) return [];
  const status = ready.isTrue ? 'True' : 'False';
  return [{ type: loadBalancerReady, status, reason: ready.code, message: ready.message }];
}

/** Recorded with the write that first says it: a restart, which writes nothing, records nothing. */
function eventsOf({ ready }: LoadBalancer): readonly WantedEvent[] {
  if (ready === undefined)
    return [{ type: 'Normal', reason: 'AddressesReleased', message: 'no longer a load balancer of Isthmus' }];
  if (!ready.isTrue) return [failure('AllocateAddressFailed', ready)];
  if (ready.code === 'AddressesGiven') return [{ type: 'Normal', reason: ready.code, message: ready.message }];
  return [{ type: 'Warning', reason: ready.code, message: ready.message }];
}

function reportAddress(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'services', name } as const;
  const balancer = view.loadBalancers.get(name);
  if (!view.services.has(name)) return [{ object }];
  if (balancer === undefined) return [];
  const fields = { loadBalancer: loadBalancerStatus(balancer.ingress) };
  const absent = balancer.ready === undefined ? { absentConditions: [loadBalancerReady] } : {};
  const conditions = conditionOf(balancer);
  return [{ object, status: { fields, conditions, ...absent, events: eventsOf(balancer), isShared: true } }];
}

export const loadBalancerAddressFeature: Feature = {
  name: 'load-balancer-address',
  all: (view) => view.loadBalancers.keys(),
  *reads(change, view) {
    if (change.kind === 'loadBalancers') yield change.name;
    if (change.kind === 'services' && view.loadBalancers.has(change.name)) yield change.name;
  },
  report: reportAddress,
};
