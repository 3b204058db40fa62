/** What a controller has told a pod, for tests in which another one starts; used by tests only. */
import { addressCondition } from '../lib/api/pod-addresses.ts';
import { planPodAnnotations, planPodCondition } from './plan/pod/pod-annotations.ts';
import type { View } from './model/view.ts';

/** Annotations and status of the pod `namespace/name`. */
export function toldBy(view: View, key: string) {
  const annotations = planPodAnnotations(view, key);
  const condition = planPodCondition(view, key, { annotations, refused: undefined });
  return { annotations, status: { conditions: [{ type: addressCondition, ...condition }] } };
}
