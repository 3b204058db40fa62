/** The addresses of a Service of type LoadBalancer, as its status has them, and the condition about them. */
import { loadBalancerReady, loadBalancerStatus } from '../../../lib/services/load-balancer.ts';
import type { Service } from '../../../lib/services/service.ts';
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

/** The event is recorded with the write that first reports the reason: a restart, which writes nothing, records no event. */
function eventsOf({ ready, ingress }: LoadBalancer, service: Service): readonly WantedEvent[] {
  if (ready === undefined) {
    const message = 'the Service is no longer of type LoadBalancer or of the class of Isthmus';
    return ingress.length < service.ingress.length ? [{ type: 'Normal', reason: 'AddressesReleased', message }] : [];
  }
  if (!ready.isTrue) return [failure('AllocateAddressFailed', ready)];
  const type = ready.code === 'AddressesGiven' ? 'Normal' : 'Warning';
  return [{ type, reason: ready.code, message: ready.message }];
}

function reportAddress(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'services', name } as const;
  const balancer = view.loadBalancers.get(name);
  const service = view.services.get(name);
  if (service === undefined) return [{ object }];
  if (balancer === undefined) return [];
  const fields = { loadBalancer: loadBalancerStatus(balancer.ingress) };
  const absent = balancer.ready === undefined ? { absentConditions: [loadBalancerReady] } : {};
  const conditions = conditionOf(balancer);
  return [{ object, status: { fields, conditions, ...absent, events: eventsOf(balancer, service), isShared: true } }];
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
