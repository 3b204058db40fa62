/** Whether a Job that is a hook of helm was made by somebody who does not know hooks. Pure. */

/** They apply whatever `helm template` prints, hooks of an uninstallation as well. */
const appliers = /^(kubectl|argocd|kustomize)/;

/** The program that applied it; undefined where it was helm, or another that runs hooks at their time. */
export function findApplier(writers: readonly string[]): string | undefined {
  return writers.find((writer) => appliers.test(writer));
}
