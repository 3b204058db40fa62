import { controllerFinalizer, formerFinalizers } from '../../lib/api/names.ts';

/** The finalizers that neither this controller nor one of Kube-OVN set. */
export function foreignFinalizers(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((one) => one !== controllerFinalizer && !formerFinalizers.includes(one));
}

/** The finalizers without those of a former Kube-OVN controller, which no other program would remove. */
export function withoutFormer(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((one) => !formerFinalizers.includes(one));
}

/** The finalizers of an object that must not go while `isNeeded`. */
export function finalizersWhile(
  isNeeded: boolean,
  { finalizers, isDeleting }: { readonly finalizers: readonly string[]; readonly isDeleting: boolean },
): readonly string[] {
  const others = foreignFinalizers(finalizers);
  // The API server refuses new finalizers on an object that is being deleted.
  const isKept = isNeeded && (!isDeleting || finalizers.includes(controllerFinalizer));
  return isKept ? [...others, controllerFinalizer] : others;
}
