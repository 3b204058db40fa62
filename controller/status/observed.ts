import { addressCondition, outsideConditions } from '../../lib/api/pod-addresses.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { apiVersionOf } from '../../lib/kube/resources.ts';
import type { EventSubject } from '../../lib/kube/events.ts';
import type { ObjectName } from '../../lib/kube/types.ts';
import type { ObjectRef } from '../plan/report.ts';
import { loadBalancerStatus } from '../../lib/services/load-balancer.ts';
import type { View } from '../model/view.ts';
import type { Kinds } from '../model/objects.ts';
import { kinds } from '../watch/kinds.ts';

type Texts = Readonly<Record<string, string>>;

/** The observed parts of an object that this room reads, as far as its kind has them. */
export interface Observed {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations?: Texts;
  readonly labels?: Texts;
  readonly finalizers?: readonly string[];
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Without the conditions. */
  readonly status?: Readonly<Record<string, unknown>>;
  readonly conditions?: readonly Condition[];
}

export function observe(view: View, { kind, name }: ObjectRef): Observed | undefined {
  const object = view[kind].get(name);
  if (object === undefined) return undefined;
  if (kind === 'services') return observedService(object as Kinds['services']);
  return kind === 'pods' ? observedPod(object as Kinds['pods']) : (object as Observed);
}

function observedService(service: Kinds['services']): Observed {
  const { uid, resourceVersion, annotations, labels, finalizers, conditions, ingress, ruleSpec } = service;
  const status = { loadBalancer: loadBalancerStatus(ingress) };
  const spec = ruleSpec && { spec: { ...ruleSpec } };
  return { uid, resourceVersion, annotations, labels, finalizers, status, conditions, ...spec };
}

/** The kubelet writes the other conditions of a pod. */
function observedPod(pod: Kinds['pods']): Observed {
  const { uid, resourceVersion, annotations, addressCondition: observed, outsideConditions: outside } = pod;
  const conditions = [
    { type: addressCondition, is: observed },
    { type: outsideConditions.eip, is: outside.eip },
    { type: outsideConditions.snat, is: outside.snat },
  ].flatMap(({ type, is }) => (is === undefined ? [] : [{ type, ...is } as Condition]));
  return { uid, resourceVersion, annotations, conditions };
}

/** `Subnet/a`, `Pod/default/web`: the object in logs, and among pending writes. */
export function keyOfObject({ kind, name }: ObjectRef): string {
  return `${kinds[kind].resource.kind}/${name}`;
}

export function nameOfObject({ kind, name }: ObjectRef): ObjectName {
  if (!kinds[kind].resource.namespaced) return { name };
  const slash = name.indexOf('/');
  return { namespace: name.slice(0, slash), name: name.slice(slash + 1) };
}

export function subjectOf(object: ObjectRef, uid: string): EventSubject {
  const { resource } = kinds[object.kind];
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...nameOfObject(object), uid };
}
