/** Conditions of pods as the controller writes them, for tests. */
import { addressCondition, vouchFor } from '../lib/api/pod-addresses.ts';
import type { RawObject } from '../lib/kube/types.ts';

type Annotations = Readonly<Record<string, string>>;

/** The condition that vouches for all interfaces these annotations are about. */
export function vouchingStatus(annotations: Annotations): object {
  const names = Object.keys(annotations).flatMap((key) => /^(.+)\.kubernetes\.io\/allocated$/.exec(key)?.[1] ?? []);
  const message = vouchFor(annotations, names);
  return { conditions: [{ type: addressCondition, status: 'True', reason: 'Allocated', message }] };
}

/** The pod as it is once the controller has written its annotations. */
export function vouchedFor<T extends RawObject>(pod: T): T {
  return { ...pod, status: vouchingStatus(pod.metadata.annotations ?? {}) };
}
