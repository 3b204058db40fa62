import { controllerFinalizer, formerFinalizers } from '../../lib/api/names.ts';

/** The finalizers that neither this controller nor one of Kube-OVN set. */
export function foreignFinalizers(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((one) => one !== controllerFinalizer && !formerFinalizers.includes(one));
}

/** The finalizers without those of a former Kube-OVN controller, which no other program would remove. */
export function withoutFormer(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((one) => !formerFinalizers.includes(one));
}
