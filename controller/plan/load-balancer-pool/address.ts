/**
 * The addresses of a Service of type LoadBalancer, as its status has them, the condition about them, and the finalizer. The finalizer comes before
 * the first address. It goes after the last one, and before the condition, by which alone a restart recognizes it as that of Isthmus.
 */
import {
  addressesReleased,
  loadBalancerCleanup,
  loadBalancerReady,
  loadBalancerStatus,
} from '../../../lib/services/load-balancer.ts';
import type { Service } from '../../../lib/services/service.ts';
import type { LoadBalancer } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { failure } from '../events.ts';
import type { Feature } from '../feature.ts';
import type { ObjectReport, WantedCondition, WantedEvent } from '../report.ts';

const released = 'the addresses of the Service are released';

/** Whether the status must be written without addresses before the finalizer may go. */
function isReleasing({ ready }: LoadBalancer, { finalizers, conditions }: Service): boolean {
  const isReported = conditions.some(({ type, reason }) => type === loadBalancerReady && reason === addressesReleased);
  return ready === undefined && finalizers.includes(loadBalancerCleanup) && !isReported;
}

function conditionOf(balancer: LoadBalancer, service: Service): readonly WantedCondition[] {
  const { ready } = balancer;
  const type = loadBalancerReady;
  if (isReleasing(balancer, service)) return [{ type, status: 'False', reason: addressesReleased, message: released }];
  if (ready === undefined) return [];
  return [{ type, status: ready.isTrue ? 'True' : 'False', reason: ready.code, message: ready.message }];
}

/** Undefined where they stay as they are. */
function finalizersOf(balancer: LoadBalancer, service: Service): readonly string[] | undefined {
  const others = service.finalizers.filter((one) => one !== loadBalancerCleanup);
  if (balancer.ready === undefined) return isReleasing(balancer, service) ? undefined : others;
  return balancer.ingress.length === 0 ? undefined : [...others, loadBalancerCleanup];
}

/** The event is recorded with the write that first reports the reason: a restart, which writes nothing, records no event. */
function eventsOf({ ready, ingress }: LoadBalancer, service: Service): readonly WantedEvent[] {
  if (ready === undefined) {
    const message = service.isDeleting
      ? 'the Service is being deleted'
      : 'the Service is no longer of type LoadBalancer or of the class of Isthmus';
    return ingress.length < service.ingress.length ? [{ type: 'Normal', reason: addressesReleased, message }] : [];
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
  const conditions = conditionOf(balancer, service);
  const absent = conditions.length === 0 ? { absentConditions: [loadBalancerReady] } : {};
  const finalizers = finalizersOf(balancer, service);
  const status = { fields, conditions, ...absent, events: eventsOf(balancer, service), isShared: true } as const;
  return [{ object, ...(finalizers && { finalizers }), status }];
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
