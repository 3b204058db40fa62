/** Whether a Job that is a helm hook was created by a program that does not support hooks. Pure. */

/** Programs that apply all output of `helm template`, including hooks of an uninstallation. */
const appliers = /^(kubectl|argocd|kustomize)/;

/** The program that applied the Job; undefined if it was helm, or another program that runs hooks at the right time. */
export function findApplier(writers: readonly string[]): string | undefined {
  return writers.find((writer) => appliers.test(writer));
}
