/** Compares the sandboxes of a node's runtime with those that labd knows: differences are work. Pure. */
import type { Sandbox as ListedSandbox } from '../cri/messages.ts';
import type { Sandbox } from './sandbox.ts';

export interface Difference {
  /** Known sandboxes whose process has ended, or that another program removed. */
  readonly ended: readonly Sandbox[];
  /** Sandboxes of deleted pods without a record. */
  readonly orphans: readonly ListedSandbox[];
}

/**
 * `known` are the sandboxes that were complete before the runtime was listed: a sandbox created meanwhile may be missing from the
 * list. `isKnown` returns whether the pod exists or a sandbox of it is still recorded. Only sandboxes of pods have a uid.
 */
export function compareSandboxes(
  known: readonly Sandbox[],
  listed: readonly ListedSandbox[],
  isKnown: (podUid: string) => boolean,
): Difference {
  const ready = new Set(listed.filter(({ state }) => state === 'SANDBOX_READY').map(({ id }) => id));
  return {
    ended: known.filter(({ containerId }) => !ready.has(containerId)),
    orphans: listed.filter(({ labels }) => {
      const uid = labels['io.kubernetes.pod.uid'];
      return uid !== undefined && !isKnown(uid);
    }),
  };
}
